"""What mkdocs.yml adds to MkDocs: README.md as the front page, reports of the program, links that leave docs/."""

import os
import posixpath
import re

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)")
REPORTS = os.environ["SITE_REPORTS"]  # the folder of reports that docs/gallery.md links to


def on_files(files, config):
    with open("README.md", encoding="utf-8") as readme:
        files.append(File.generated(config, "index.md", content=readme.read()))
    for name in sorted(os.listdir(REPORTS)):
        if name.endswith(".html"):
            path = os.path.abspath(os.path.join(REPORTS, name))
            files.append(File.generated(config, f"reports/{name}", abs_src_path=path))


def on_page_markdown(markdown, page, config, files):
    """Links are right in the repository. On the site README.md is index.md, and what is not in docs/ is in the repository."""
    folder = "" if page.file.src_uri == "index.md" else "docs"

    def moved(match):
        path = posixpath.normpath(posixpath.join(folder, match[1]))
        inside = "index.md" if path == "README.md" else path.removeprefix("docs/")
        if inside != path or path.startswith("docs/"):
            return inside
        if not os.path.exists(path):
            raise PluginError(f"{page.file.src_uri}: there is no {path} for the link {match[1]}; correct the link")
        return f"{config.extra['repository']}/blob/HEAD/{path}"

    return LINK.sub(moved, markdown)
