"""A simulated corpus of the size of the NIPS papers that Lee & Choi (2015) used, which are not freely available."""

import numpy as np
from scipy import sparse


def simulated_corpus(n=1500, n_words=12_419, n_topics=60, seed=1):
    """Documents of about 1300 words, 370 of them different, each from one of several topics of unequal sizes. Word
    frequencies decrease like 1/rank over the whole vocabulary. Those of topics are Dirichlet distributed around
    them, so topics share common words and differ in rare ones.
    """
    rng = np.random.default_rng(seed)
    base = 1.0 / np.arange(1, n_words + 1)
    topics = rng.gamma(500.0 * base / base.sum(), size=(n_topics, n_words))
    topics /= topics.sum(axis=1, keepdims=True)
    topic = rng.choice(n_topics, n, p=rng.dirichlet(np.full(n_topics, 0.5)))
    rows = [sparse.csr_matrix(rng.multinomial(rng.poisson(1300), topics[t])) for t in topic]
    return sparse.vstack(rows).tocsr()
