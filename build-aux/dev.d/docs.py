#!/usr/bin/env python3
"""Writes all pages as HTML: docs.py SOURCE OUTPUT. Ends with 1 after a list of dead links, and of pages that
the index does not have. mandoc and cmark-gfm convert; here is what joins the pages."""

import html
import html.parser
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

# The groups of the index: its pages as patterns, in this order.
GROUPS = [
    ("Start", ["README.md", "man/zkl.7", "man/zkl-[!g]*.7", "docs/stability.md", "docs/stored.md", "SECURITY.md", "NEWS.md"]),
    ("Commands", ["man/zkl.1", "man/*.1", "man/zkl-guard.7"]),
    ("Library functions", ["man/zkl.3", "man/zkl_*.3"]),
    ("Guide", ["docs/guide/README.md", "docs/guide/*.md"]),
    ("Design", ["docs/design/README.md", "docs/design/*.md"]),
    ("Work on zkl", ["CONTRIBUTING.md", "HACKING.md", "tests/**/*.md", "bench/**/*.md"]),
]
PAGES = ["*.md", "docs/**/*.md", "man/*.[1-8]", "tests/**/*.md", "bench/**/*.md"]
HERE = Path(__file__).resolve().parent

sys.path.insert(0, str(HERE.parents[1] / "man"))
import pages  # noqa: E402


def run(given, *command):
    return subprocess.run(command, input=given, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


def text(markup):
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", markup)).split())


def manual(roff):
    """mandoc's HTML, but that a function is not a link to itself where it is first named: it is to be one to its page."""
    body = run(roff, "mandoc", "-Thtml", "-Ofragment")
    return re.sub(r'<a class="permalink" href="[^"]*">(<code class="Fn")(?: id="[^"]*")?(>[^<]*</code>)</a>', r"\1\2", body)


class Site:
    def __init__(self, source, output):
        self.source, self.output, self.faults = source, output, []
        # Those of functions are made of headers, as for man(1).
        self.made = {"man/" + file: made for file, made in pages.pages(source)}
        self.pages = {page for pattern in PAGES for page in self.find(pattern)}
        # Functions by name, pages by name and section; of two with one name that of the lower section.
        self.manual = {}
        for page in sorted(self.pages, reverse=True):
            name, section = os.path.splitext(os.path.basename(page))
            if page.startswith("man/"):
                self.manual[name, section[1:]] = self.manual[name, ""] = page
        self.functions = {name: page for page, roff in self.made.items() for name in re.findall(r"^\.Nm (zkl_\w+)", roff, re.M)}

    def find(self, pattern):
        written = {str(path.relative_to(self.source)) for path in self.source.glob(pattern)}
        return sorted(written.union(page for page in self.made if Path(page).match(pattern)))

    def read(self, page):
        return self.made.get(page) or (self.source / page).read_text()

    @staticmethod
    def target(page):
        return page.removesuffix(".md") + ".html"

    def href(self, start, page, fragment=""):
        """The link to page from another one."""
        path = os.path.relpath(self.target(page), os.path.dirname(start) or ".")
        return path + ("#" + fragment if fragment else "")

    def follow(self, start, match):
        """A link in Markdown: to a page that is converted, or to a file that is copied."""
        attribute, link = match[1], html.unescape(match[2])
        if re.match(r"[a-z]+:", link) or link.startswith("#"):
            return match[0]
        path, _, fragment = link.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(start), path))
        if path in self.pages:
            link = self.href(start, path, fragment)
        elif (self.source / path).is_file():
            (self.output / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.source / path, self.output / path)
        return f'{attribute}="{html.escape(link)}"'

    def manual_link(self, start, name, section, shown):
        """zkl(7), zkl_mutex(3), zkl_mutex_lock(3), zkl_mutex_lock()."""
        page, fragment = self.manual.get((name, section)), ""
        if name in self.functions and section in ("", "3"):
            page, fragment = self.functions[name], name + "()"
            # A page may be about more than the function that has its name.
            if section == "3" and (name, "3") in self.manual:
                fragment = ""
        if not page and section and re.match("zkl", name):
            self.faults.append(f"{start}: no such page: {name}({section})")
        return f'<a href="{self.href(start, page, fragment)}">{shown}</a>' if page else shown

    def cross_references(self, start, body):
        def link(match):
            if match["xr"]:
                return self.manual_link(start, match["xr"], match["xr_section"], text(match[0]))
            if match["man"]:
                return self.manual_link(start, match["man"], match["man_section"] or "", match[0])
            if match["name"] and (match["section"] or match["name"] in self.functions):
                return self.manual_link(start, match["name"], match["section"], match[0])
            return match[0]

        return re.sub(
            r'<a class="Xr">(?P<xr>[^<(]*)\((?P<xr_section>\d)\)</a>'
            r"|<code>man (?:(?P<man_section>\d) )?(?P<man>zkl[\w-]*)</code>"
            r"|<h[1-6]\b.*?</h[1-6]>|<a\b.*?</a>|<[^>]*>"
            r"|(?<![\w/.-])(?P<name>zkl[\w-]*)(?=(?:</\w+>)?\((?P<section>\d?))",
            link, body, flags=re.S)

    @staticmethod
    def about(path):
        """What the README beside a page says of it, in a list or a table."""
        readme = path.with_name("README.md")
        line = readme.exists() and re.search(rf"\[{path.name}\]\({path.name}\)(?:: | \| )([^|\n]*)", readme.read_text())
        return line[1].strip(" .").replace("`", "") if line else ""

    def convert(self, page):
        """The page's title, what it says of itself, and its HTML."""
        if not page.endswith(".md"):
            body = manual(self.read(page))
            name, section = os.path.splitext(os.path.basename(page))
            about = re.search(r'id="NAME".*?<p class="Pp">(.*?)</p>', body, re.S)[1]
            title, about = f"{name}({section[1:]})", re.split(r" (?:-|\N{EM DASH}) ", text(about), maxsplit=1)[1]
            body = f'<h1 class="page">{title}</h1>\n{body}'
        else:
            body = run(self.read(page), "cmark-gfm", "-e", "table")
            title, about = text(re.search(r"<h1>(.*?)</h1>", body, re.S)[1]), self.about(self.source / page)
            title = "README" if page == "README.md" else title
            body = re.sub(r"<h([2-6])>(.*?)</h\1>", lambda match: '<h{0} id="{1}">{2}</h{0}>'.format(
                match[1], re.sub(r"[^\w-]", "", text(match[2]).lower().replace(" ", "-")), match[2]), body)
            body = re.sub(r'\b(href|src)="([^"]*)"', lambda match: self.follow(page, match), body)
        body = re.sub(r"<table(?! class=\"(?:head|foot|Nm))", '<div class="wide"><table', body)
        body = re.sub(r'(<div class="wide">.*?</table>)', r"\1</div>", body, flags=re.S)
        return title, about, self.cross_references(page, body)

    def write(self, page, title, body, place=""):
        target = self.output / (self.target(page) if page else "index.html")
        target.parent.mkdir(parents=True, exist_ok=True)
        top = "../" * page.count("/")
        kind = "index" if not page else "guide" if page.endswith(".md") else "manual"
        target.write_text((HERE / "docs.html").read_text().format(title=html.escape(title), top=top, kind=kind, place=place, body=body))

    def build(self):
        index, indexed = "<h1>zkl: ZooKeeper locks and leaders for C</h1>\n", set()
        for group, patterns in GROUPS:
            index += f"<section><h2>{group}</h2>\n<ul>\n"
            for page in (page for pattern in patterns for page in self.find(pattern) if page not in indexed):
                indexed.add(page)
                title, about, body = self.convert(page)
                self.write(page, title, body, f" / {group} / {html.escape(title)}")
                about = f" <span>{html.escape(about)}</span>" if about else ""
                index += f'<li><a href="{self.href("", page)}">{html.escape(title)}</a>{about}\n'
            index += "</ul></section>\n"
        self.write("", "zkl", index)
        shutil.copy(HERE / "docs.css", self.output / "style.css")
        return self.faults + [f"{page}: not in the index" for page in sorted(self.pages - indexed)]


class Links(html.parser.HTMLParser):
    """What a page links to, and what can be linked to in it."""

    def __init__(self, path):
        super().__init__()
        self.links, self.ids = [], set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("href", "src") and not re.match(r"[a-z]+:", value):
                self.links.append(value)
            elif name == "id":
                self.ids.add(value)


def dead_links(output):
    files = {path: Links(path) for path in sorted(output.rglob("*.html"))}
    for path, page in files.items():
        for link in page.links:
            name, _, fragment = link.partition("#")
            target = Path(os.path.normpath(path.parent / name)) if name else path
            if not target.is_file() or (fragment and fragment not in files[target].ids):
                yield f"{path.relative_to(output)}: dead link: {link}"


def main():
    source, output = map(Path, sys.argv[1:])
    shutil.rmtree(output, ignore_errors=True)
    site = Site(source, output)
    faults = site.build() + list(dead_links(output))
    print("\n".join(faults) if faults else f"{len(site.pages)} pages")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
