// Lets the site search from disk: browsers start no worker from a file, so there the search runs in a hidden frame.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget { // the theme's worker asks for this name
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = (...urls) => urls.reduce((last, each) => last.then(() => load(inside, each)), Promise.resolve());
      this.ready = load(inside, url).then(() => inside);
    }

    postMessage(data) {
      this.ready.then((inside) => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
    }
  };
  window.Worker = window.IFrameWorker;

  function load(inside, url) {
    return new Promise((done, failed) => {
      const script = inside.document.createElement("script");
      Object.assign(script, { src: url, onload: done, onerror: failed });
      inside.document.body.append(script);
    });
  }
}
