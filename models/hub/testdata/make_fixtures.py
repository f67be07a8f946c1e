"""Records the cache that huggingface_hub makes of a small repository: huggingface_hub.json, the witness of the layout.

The repository is served from this process in the way of the hub: a listing, HEAD and GET of resolve, and LFS files
behind a redirect with X-Linked-Etag. Run: python testdata/make_fixtures.py > testdata/huggingface_hub.json
"""
import hashlib, http.server, json, os, tempfile, threading

COMMIT = "0123456789abcdef0123456789abcdef01234567"
REPO = "acme/tiny"
REVISION = "refs/pr/1"
FILES = {  # name: (content, held by LFS)
    "config.json": ('{"model_type": "bert"}\n', False),
    "tokenizer.json": ('{"model": {}}\n', False),
    "onnx/model.onnx": ("weights " * 40, True),
    "1_Pooling/config.json": ("{}", False),
}


def digest(content, lfs):
    data = content.encode()
    return hashlib.sha256(data).hexdigest() if lfs else hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def entry(name):
    content, lfs = FILES[name]
    found = {"type": "file", "path": name, "size": len(content), "oid": digest(content, False)}
    return found | ({"lfs": {"oid": digest(content, True), "size": len(content), "pointerSize": 134}} if lfs else {})


class Hub(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path = self.path.split("?")[0]
        if path.startswith(f"/api/models/{REPO}/tree/"):
            return self.answer(json.dumps([entry(n) for n in FILES]).encode())
        if path.startswith("/api/models/"):
            siblings = [{"rfilename": n} for n in FILES]
            return self.answer(json.dumps({"id": REPO, "sha": COMMIT, "siblings": siblings, "private": False, "downloads": 0, "likes": 0, "tags": []}).encode())
        if path.startswith("/api/"):
            return self.answer(b"", 404)
        name = path.removeprefix("/cdn/").removeprefix(f"/{REPO}/resolve/{COMMIT}/")
        content, lfs = FILES[name]
        etag = '"%s"' % digest(content, lfs)
        if lfs and not path.startswith("/cdn/"):
            return self.answer(b"", 302, {"Location": "/cdn/" + name, "X-Linked-Etag": etag, "X-Linked-Size": str(len(content)), "X-Repo-Commit": COMMIT})
        self.answer(content.encode(), 200, {"ETag": etag, "X-Repo-Commit": COMMIT})

    def answer(self, body, status=200, headers={}):
        self.send_response(status)
        for key, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as home:
        os.environ.update(HF_HOME=home, HF_ENDPOINT=f"http://127.0.0.1:{server.server_port}", HF_HUB_DISABLE_PROGRESS_BARS="1")
        import huggingface_hub
        huggingface_hub.snapshot_download(REPO, revision=REVISION)
        top, links, files = os.path.join(home, "hub"), {}, {}
        for folder, _, names in os.walk(os.path.join(top, "models--acme--tiny")):
            for name in names:
                path = os.path.join(folder, name)
                where = os.path.relpath(path, top)
                if os.path.islink(path):
                    links[where] = os.readlink(path)
                elif "/blobs/" in where or "/refs/" in where:
                    files[where] = open(path).read()
    repository = [{"name": n, "content": c, "lfs": l} for n, (c, l) in FILES.items()]
    print(json.dumps({"made_by": "huggingface_hub " + huggingface_hub.__version__, "repo": REPO, "revision": REVISION, "commit": COMMIT,
                      "repository": repository, "links": links, "files": files}, indent=1, sort_keys=True))


main()
