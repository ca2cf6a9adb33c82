"""MedMNIST's files: fetched, continued, checked, never half there."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pytest

from nasbench.benchmarks import UsageError, download
from nasbench.benchmarks.images import DATASETS, ImageBenchmark, medmnist
from tests.conftest import Printed

NAME = "medmnist-breast"
SHARED = Path(__file__).parents[3] / "shared" / "data" / "medmnist"
CONTENT = bytes(range(256)) * 4000


class Server:
    """Serves CONTENT on this machine; its attributes say how badly."""

    def __init__(self) -> None:
        self.content, self.knows_ranges, self.breaks_after, self.code = CONTENT, True, len(CONTENT), 200
        self.asked: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                wanted = self.headers.get("Range", "")
                outer.asked.append(wanted)
                begin = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and outer.knows_ranges else 0
                if begin >= len(outer.content):
                    self.send_error(416)
                    return
                self.send_response(206 if begin else outer.code)
                part = outer.content[begin:]
                self.send_header("Content-Length", str(len(part)))
                self.end_headers()
                self.wfile.write(part[: outer.breaks_after])

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/breastmnist.npz?download=1"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Server]:
    found = Server()
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(medmnist, "PACKAGE_CACHE", tmp_path / "nothing")
    data = replace(medmnist.files()[NAME], url=found.url, md5=hashlib.md5(CONTENT).hexdigest())
    monkeypatch.setattr(medmnist, "files", lambda: {NAME: data})
    yield found
    found.server.shutdown()
    found.server.server_close()


def files(tmp_path: Path) -> list[str]:
    found = (path.name for path in (tmp_path / "data").rglob("*") if path.is_file())
    return sorted(name for name in found if not name.endswith(".lock"))


def test_a_file_is_fetched_checked_and_not_fetched_twice(
    server: Server, tmp_path: Path, nasbench: Callable[..., Printed]
) -> None:
    done = nasbench("data", "fetch", NAME)
    assert (done.code, files(tmp_path)) == (0, ["breastmnist.npz"])
    assert (tmp_path / "data" / "medmnist" / "breastmnist.npz").read_bytes() == CONTENT
    again = nasbench("data", "fetch", NAME)
    assert (again.code, len(server.asked)) == (0, 1)
    assert "already here" in again.out
    assert nasbench("data", "verify").code == 0


def test_an_interrupted_download_is_continued(server: Server, tmp_path: Path, nasbench: Callable[..., Printed]) -> None:
    server.breaks_after = 300_000
    broken = nasbench("data", "fetch", NAME)
    assert broken.code == 2
    assert "run the command again" in broken.err
    assert files(tmp_path) == [".breastmnist.npz.part"]
    server.breaks_after = len(CONTENT)
    assert nasbench("data", "fetch", NAME).code == 0
    assert server.asked == ["", "bytes=300000-"]
    assert files(tmp_path) == ["breastmnist.npz"]


def test_two_fetches_at_a_time_bring_one_whole_file(server: Server, tmp_path: Path) -> None:
    data, found = medmnist.files()[NAME], []
    threads = [
        threading.Thread(target=lambda: found.append(medmnist.fetch(data, lambda here, total: None))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(server.asked) == 1
    assert found[0].read_bytes() == CONTENT


def test_a_server_without_ranges_and_a_part_that_is_whole_already_work_too(
    server: Server, tmp_path: Path, nasbench: Callable[..., Printed]
) -> None:
    part = tmp_path / "data" / "medmnist" / ".breastmnist.npz.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"something else")
    server.knows_ranges = False
    assert nasbench("data", "fetch", NAME).code == 0
    (part.parent / "breastmnist.npz").unlink()
    part.write_bytes(CONTENT)  # killed before it was renamed
    server.knows_ranges = True
    assert nasbench("data", "fetch", NAME).code == 0
    assert (part.parent / "breastmnist.npz").read_bytes() == CONTENT


def test_another_file_than_the_official_one_is_deleted(
    server: Server, tmp_path: Path, nasbench: Callable[..., Printed]
) -> None:
    server.content = CONTENT[:-1] + b"x"
    done = nasbench("data", "fetch", NAME)
    assert (done.code, files(tmp_path)) == (2, [])
    assert "is not the official file" in done.err


@pytest.mark.parametrize("code", [404, 503])
def test_a_server_that_refuses_is_one_sentence(
    code: int, server: Server, tmp_path: Path, nasbench: Callable[..., Printed], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise download.urllib.error.HTTPError(server.url, code, "Sorry", None, None)  # type: ignore[arg-type]

    monkeypatch.setattr(download.urllib.request, "urlopen", refuse)
    done = nasbench("data", "fetch", NAME)
    assert (done.code, files(tmp_path), done.err.count("\n")) == (2, [], 1)
    assert "Sorry" in done.err


def test_no_network_is_one_sentence_that_says_what_to_do(
    server: Server, tmp_path: Path, nasbench: Callable[..., Printed]
) -> None:
    server.server.shutdown()
    server.server.server_close()
    done = nasbench("data", "fetch", NAME)
    assert (done.code, files(tmp_path)) == (2, [])
    assert "put breastmnist.npz into" in done.err
    assert done.err.count("\n") == 1


def test_verify_names_what_is_damaged_or_missing(
    server: Server, tmp_path: Path, nasbench: Callable[..., Printed]
) -> None:
    assert nasbench("data", "verify", NAME).code == 1
    nothing = nasbench("data", "verify")
    assert nothing.code == 1
    assert "no images in" in nothing.err
    assert nasbench("data", "verify", "digits").code == 2
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "breastmnist.npz").write_bytes(CONTENT[:100])  # right in the folder is fine, too
    done = nasbench("data", "verify")
    assert done.code == 1
    assert "its MD5 is" in done.err
    listed = nasbench("data", "list").out
    assert str(tmp_path / "data" / "breastmnist.npz") in listed


def test_names_are_checked(nasbench: Callable[..., Printed]) -> None:
    assert "did you mean medmnist-breast" in nasbench("data", "fetch", "medmnist-brest").err
    assert "allowed: medmnist-path" in nasbench("data", "fetch").err
    assert nasbench("data", "fetch", NAME, "--all").code == 2


def test_chestmnist_is_refused_with_the_reason(nasbench: Callable[..., Printed]) -> None:
    for command in (["data", "fetch", "medmnist-chest"], ["run", "--method", "random", "--bench", "medmnist-chest"]):
        refused = nasbench(*command)
        assert (refused.code, refused.err.count("\n")) == (2, 1)
        assert "'medmnist-chest' is not here: an image of ChestMNIST has several labels at once" in refused.err


@pytest.mark.skipif(not (SHARED / "retinamnist.npz").exists(), reason="retinamnist.npz is not here")
def test_retinamnist_has_five_grades(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NASBENCH_DATA", str(SHARED))
    splits = DATASETS.get("medmnist-retina").load()
    assert {name: split.images.shape for name, split in splits.items()} == {
        "train": (1080, 28, 28, 3),
        "val": (120, 28, 28, 3),
        "test": (400, 28, 28, 3),
    }
    assert all(sorted({*split.labels}) == [0, 1, 2, 3, 4] for split in splits.values())


def test_a_run_without_its_data_says_how_to_get_it(
    server: Server, tmp_path: Path, nasbench: Callable[..., Printed]
) -> None:
    pytest.importorskip("torch")
    done = nasbench("run", "--method", "random", "--bench", NAME, "--store", tmp_path / "store")
    assert done.code == 2
    assert "nasbench data fetch medmnist-breast" in done.err
    assert not (tmp_path / "store").exists()


def test_a_finished_store_needs_no_data(
    tmp_path: Path, nasbench: Callable[..., Printed], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    asked = ["run", "--method", "random", "--bench", "digits/nasbench201@1", "--seeds", 1, "--evals", 1]
    assert nasbench(*asked, "--store", tmp_path / "store").code == 0
    monkeypatch.setattr(ImageBenchmark, "make_ready", lambda benchmark: pytest.fail("nothing is to run"))
    assert "all (cached)" in nasbench(*asked, "--store", tmp_path / "store").out


@pytest.mark.parametrize("wrong", ["shape", "key", "zip"])
def test_a_file_of_another_shape_is_refused(
    wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Server
) -> None:
    path = tmp_path / "data" / "breastmnist.npz"
    path.parent.mkdir(exist_ok=True)
    arrays = {f"{split}_images": np.zeros((3, 28, 28), np.uint8) for split in ("train", "val", "test")}
    arrays |= {f"{split}_labels": np.zeros((3, 1), np.uint8) for split in ("train", "val", "test")}
    if wrong == "key":
        del arrays["val_labels"]
    np.savez(path, **arrays)
    if wrong == "zip":
        path.write_bytes(path.read_bytes()[:300])
    data = replace(medmnist.files()[NAME], md5=hashlib.md5(path.read_bytes()).hexdigest())
    count = 4 if wrong == "shape" else 3
    with pytest.raises(UsageError, match="does not hold the images of medmnist-breast"):
        medmnist.read(data, {"train": count, "val": 3, "test": 3}, 1)


@pytest.mark.parametrize("name", ["medmnist-breast", "medmnist-pneumonia", "medmnist-blood"])
def test_official_files_are_as_the_facts_say(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not (SHARED / medmnist.files()[name].file).exists():
        pytest.skip(f"{medmnist.files()[name].file} is not in {SHARED}")
    monkeypatch.setenv("NASBENCH_DATA", str(SHARED.parent))
    dataset = DATASETS.get(name)
    splits = dataset.load()
    assert {s: len(split.labels) for s, split in splits.items()} == dataset.counts
    for split in splits.values():
        assert split.images.shape[1:] == (28, 28, dataset.channels)
        assert set(split.labels.tolist()) == set(range(dataset.classes))


def test_facts_agree_with_table_1_of_the_paper() -> None:
    """Images a search step and a retraining step (ZO-DARTS++, table I)."""
    batches = {name: DATASETS.get(name).batch for name in DATASETS.names() if name != "digits"}
    found = {name: (batch["search"], batch["retrain"]) for name, batch in batches.items()}
    assert found["medmnist-breast"] == (16, 64)
    assert found["medmnist-pneumonia"] == (32, 16)
    assert found["medmnist-blood"] == (128, 32)
    assert len({f.md5 for f in medmnist.files().values()}) == len(found) == 11
    assert all(f.url.endswith(f"/{f.file}?download=1") for f in medmnist.files().values())
    assert {f.url.rpartition("/")[0] for f in medmnist.files().values()} == {
        "https://zenodo.org/records/10519652/files"
    }


def test_what_cannot_be_fetched_is_said_before_anything_is(
    nasbench: Callable[..., Printed], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nasbench.benchmarks.sources.fetch", lambda _: pytest.fail("it was fetched"))
    refused = nasbench("data", "fetch", "nas-bench-mr", "digits")
    assert (refused.code, refused.out) == (2, "")
    assert "there is nothing to fetch or verify" in refused.err


def test_the_bytes_that_are_parsed_are_those_that_were_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path))
    path, counts = tmp_path / "few.npz", {"train": 3, "val": 2, "test": 1}
    images = {f"{split}_images": np.full((count, 28, 28), 7, np.uint8) for split, count in counts.items()}
    labels = {f"{split}_labels": np.ones((count, 1), np.uint8) for split, count in counts.items()}
    np.savez(path, **images, **labels)
    data = medmnist.DataFile("medmnist-few", path.name, "", hashlib.md5(path.read_bytes()).hexdigest())
    read = medmnist.content_of

    def exchanged(path: Path, most: int, why: str) -> bytes:
        content = read(path, most, why)
        path.write_bytes(b"another file, which nobody has checked")
        return content

    monkeypatch.setattr(medmnist, "content_of", exchanged)
    splits = medmnist.read(data, counts, 1)
    assert {name: len(split.labels) for name, split in splits.items()} == counts
    assert (splits["train"].images == 7).all()
