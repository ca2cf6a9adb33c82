"""Transport problems, solved exactly by a compiled network simplex: the best matching of two networks' layers.

Suppliers may keep mass and customers may lack mass, both at no gain. A root takes the kept mass and gives the lacking
mass, so that every basis is a tree of n + m arcs. Another ν changes the gains only: a basis for one ν is feasible for
the next, and few steps from its optimum (Ahuja, Magnanti and Orlin, Network Flows, 1993, chapter 11; the strongly
feasible trees of section 11.6 prevent cycling).

Nodes are the suppliers, 0 to n - 1, then the customers, n to n + m - 1, then the root. Arcs lead from suppliers to
customers, from suppliers to the root and from the root to customers. A basis is two arrays: `links`, shape (5, nodes),
and `state`, shape (2, nodes), whose rows the constants below name.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]

_PARENT, _CHILD, _NEXT, _BEFORE, _DEPTH = range(5)  # the first child, the next sibling and the one before
_PRICE, _FLOW = range(2)  # a node's potential, and the flow on the arc to its parent
_LEAST = 1e-12  # gain per unit of mass below which a change is rounding


@njit(cache=True)
def basis_of(most: int) -> tuple[Numbers, Array]:
    """Memory for the bases of problems with up to `most` suppliers and customers together: links, state."""
    return np.empty((5, most + 1), np.int64), np.empty((2, most + 1))


@njit(cache=True)
def begin(gains: Array, supply: Array, demand: Array, links: Numbers, state: Array) -> None:
    """A first basis by a greedy rule: each supplier in turn serves the customers with the highest gains.

    Masses must be positive.
    """
    n, m = len(supply), len(demand)
    root = n + m
    for x in range(root):
        links[_PARENT, x], state[_FLOW, x] = root, supply[x] if x < n else demand[x - n]
    for i in range(n):
        while links[_PARENT, i] == root:
            best, j = 0.0, -1
            for c in range(m):
                if gains[i, c] > best and links[_PARENT, n + c] == root:
                    best, j = gains[i, c], n + c
            if j < 0:
                break
            mass, wanted = state[_FLOW, i], state[_FLOW, j]
            if mass < wanted:
                links[_PARENT, i], state[_FLOW, j] = j, wanted - mass
            else:  # a customer's flow stays positive, which makes the tree strongly feasible
                links[_PARENT, j], state[_FLOW, i] = i, mass - wanted
                if mass == wanted:
                    break
    for x in range(root + 1):
        links[_CHILD, x] = -1
    for x in range(root):
        p = links[_PARENT, x]
        links[_NEXT, x], links[_BEFORE, x] = links[_CHILD, p], -1
        if links[_CHILD, p] >= 0:
            links[_BEFORE, links[_CHILD, p]] = x
        links[_CHILD, p] = x
    links[_DEPTH, root] = 0
    state[_PRICE, root] = 0.0
    reprice(gains, n, m, links, state)


@njit(cache=True)
def reprice(gains: Array, n: int, m: int, links: Numbers, state: Array) -> None:
    """Computes the potentials and depths of a tree for given gains."""
    root = n + m
    x = links[_CHILD, root]
    while x >= 0:
        p = links[_PARENT, x]
        links[_DEPTH, x] = links[_DEPTH, p] + 1
        if p == root:
            state[_PRICE, x] = 0.0
        else:
            state[_PRICE, x] = (gains[x, p - n] if x < n else gains[p, x - n]) - state[_PRICE, p]
        x = _following(x, root, links)


@njit(cache=True)
def improve(gains: Array, n: int, m: int, links: Numbers, state: Array) -> float:
    """Brings a basis to the optimum, and returns the gain of its flow.

    Args:
        gains: per unit of mass, at least of shape (n, m).
    """
    root = n + m
    row, left = 0, n + 1  # row n is the root, which may serve any customer
    while left > 0:  # until a round over all rows improves nothing
        source, best, target = row, _LEAST, -1
        if row < n:
            price = state[_PRICE, row]
            if -price > best:
                best, target = -price, root
            if _highest(gains, row, n, m, state) - price > best:
                for j in range(m):
                    gain = gains[row, j] - state[_PRICE, n + j] - price
                    if gain > best:
                        best, target = gain, n + j
        else:
            source = root
            for x in range(n, root):
                if -state[_PRICE, x] > best:
                    best, target = -state[_PRICE, x], x
        if target >= 0:
            _pivot(source, target, best, n, links, state)
            left = n + 2
        row = row + 1 if row < n else 0
        left -= 1
    total = 0.0
    for x in range(root):
        p = links[_PARENT, x]
        if p != root:
            total += state[_FLOW, x] * (gains[x, p - n] if x < n else gains[p, x - n])
    return total


@njit(cache=True)
def matched(n: int, m: int, links: Numbers, state: Array) -> Array:
    """The flow of a basis between suppliers and customers, shape (n, m)."""
    flow = np.zeros((n, m))
    for x in range(n + m):
        p = links[_PARENT, x]
        if p != n + m:
            i, j = (x, p) if x < n else (p, x)
            flow[i, j - n] = state[_FLOW, x]
    return flow


@njit(cache=True, fastmath={"nnan", "nsz", "reassoc"})  # a maximum in any order can be vectorised
def _highest(gains: Array, row: int, n: int, m: int, state: Array) -> float:
    """The best gain of a supplier, less the customers' prices."""
    highest = -np.inf
    for j in range(m):
        highest = max(highest, gains[row, j] - state[_PRICE, n + j])
    return highest


@njit(cache=True)
def _pivot(source: int, target: int, gain: float, n: int, links: Numbers, state: Array) -> None:
    """Adds an arc to the tree and removes the arc that limits the flow around the cycle it closes."""
    # On the path from the arc's source up to the join, suppliers give less to their parents; on the path from its
    # target, customers take less from theirs. The smallest of these flows limits the mass sent around the cycle.
    x, y, less, other, leaving, taking = source, target, np.inf, np.inf, -1, -1
    while x != y:
        if links[_DEPTH, x] > links[_DEPTH, y]:
            if x < n and state[_FLOW, x] < less:
                less, leaving = state[_FLOW, x], x
            x = links[_PARENT, x]
        else:
            if y >= n and state[_FLOW, y] <= other:  # in a tie the last around the cycle: strongly feasible
                other, taking = state[_FLOW, y], y
            y = links[_PARENT, y]
    join, from_target = x, other <= less
    sent = other if from_target else less
    x = source
    while x != join:
        state[_FLOW, x] += -sent if x < n else sent
        x = links[_PARENT, x]
    x = target
    while x != join:
        state[_FLOW, x] += sent if x < n else -sent
        x = links[_PARENT, x]
    # The subtree below the leaving arc is attached to the entering arc; the path between them is reversed.
    top, p, last = (target, source, taking) if from_target else (source, target, leaving)
    x, flow = top, sent
    while True:
        old, was = links[_PARENT, x], state[_FLOW, x]
        _move(x, p, links)
        state[_FLOW, x] = flow
        if x == last:
            break
        x, p, flow = old, x, was
    rise = -gain if from_target else gain
    x = top
    while x >= 0:
        links[_DEPTH, x] = links[_DEPTH, links[_PARENT, x]] + 1
        state[_PRICE, x] += rise if x < n else -rise
        x = _following(x, top, links)


@njit(cache=True)
def _following(x: int, top: int, links: Numbers) -> int:
    """The node after x in a walk through the subtree of `top`, parents first; -1 at its end."""
    if links[_CHILD, x] >= 0:
        return int(links[_CHILD, x])
    while x != top:
        if links[_NEXT, x] >= 0:
            return int(links[_NEXT, x])
        x = links[_PARENT, x]
    return -1


@njit(cache=True)
def _move(x: int, p: int, links: Numbers) -> None:
    """Makes a node the first child of another."""
    before, after = links[_BEFORE, x], links[_NEXT, x]
    if before >= 0:
        links[_NEXT, before] = after
    else:
        links[_CHILD, links[_PARENT, x]] = after
    if after >= 0:
        links[_BEFORE, after] = before
    first = links[_CHILD, p]
    links[_PARENT, x], links[_NEXT, x], links[_BEFORE, x] = p, first, -1
    if first >= 0:
        links[_BEFORE, first] = x
    links[_CHILD, p] = x
