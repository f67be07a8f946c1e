"""Records the outside witness of agglomerative clustering and of the similarity of words.

    python make_cluster.py      (scipy 1.17, scikit-learn 1.9, numpy)   writes cluster.json beside this file
"""
import json
import pathlib
import re

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist, squareform
from sklearn.feature_extraction.text import TfidfVectorizer

rng = np.random.default_rng(23)
STOP = set("""a an and are as at be been because but by can could did do does for from had has
have he her him his how i if in into is it its me more most my of on one or other our out own same she so some such
than that the their them then there these they this those to too two up us very was we were what when where which
while who whom whose why will with would you your""".split())


def trees():
    """Points with distances to each other, some of them several times; fcluster sees each copy."""
    for n, most in [(1, 1), (2, 1), (5, 3), (12, 1), (30, 4), (60, 1), (60, 6)]:
        points = rng.normal(size=(n, 3)).round(3)
        weights = rng.integers(1, most + 1, size=n)
        copies = np.repeat(np.arange(n), weights)
        distance = squareform(pdist(points)) if n > 1 else np.zeros((1, 1))
        case = {"weights": weights.tolist(), "distance": distance.tolist(), "cuts": []}
        for cut in (0.0, .5, 1.0, 1.7, 2.5, 9.0):
            groups = [1] if len(copies) == 1 else fcluster(linkage(squareform(distance[np.ix_(copies, copies)], checks=False), "average"), cut, "distance")
            case["cuts"].append({"cut": cut, "groups": [int(groups[list(copies).index(i)]) for i in range(n)]})
        yield case


def words(sentence):
    found = re.findall(r"\w+", sentence.lower())
    return " ".join([w for w in found if w not in STOP] or found)


def similarity():
    lines = (pathlib.Path(__file__).with_name("issues.jsonl")).read_text().splitlines()
    sentences = [json.loads(line)["sentence"] for line in lines[:24]] + ["What is it?", "Unit Größe 3 of the façade"]
    vectors = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 4), sublinear_tf=True, preprocessor=words).fit_transform(sentences)
    return {"sentences": sentences, "cosine": (vectors @ vectors.T).toarray().round(7).tolist()}


path = pathlib.Path(__file__).with_name("cluster.json")
path.write_text(json.dumps({"trees": list(trees()), "similarity": similarity()}) + "\n")
