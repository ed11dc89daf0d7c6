"""Writes folder_order.txt: what torchvision's DatasetFolder and ImageFolder find in folders made for it.

    python3 folder_order.py > folder_order.txt    # with torchvision installed; 0.26.0 made the file in the repository

One case a block. Names are bytes: those that are not printable ASCII, and the space and the backslash, stand as \\xNN.
"""
import os
import tempfile

import torchvision
from torchvision.datasets import DatasetFolder, ImageFolder

IMAGES = ()  # those of ImageFolder


def quote(name):
    return "".join(chr(b) if 0x21 <= b < 0x7f and b != 0x5c else f"\\x{b:02x}" for b in os.fsencode(name))


CASES = [
    ("plain", IMAGES, False, [
        "file dog/b.jpg", "file dog/a.jpg", "file cat/2.png", "file cat/10.png", "file cat/1.png", "file README.jpg"]),
    ("nested", IMAGES, False, [
        "file a/z.jpg", "file a/b/y.jpg", "file a/b/c/x.jpg", "file a/b-c/w.jpg", "file a/b.c/v.jpg", "file a/b c/u.jpg",
        "file a/B/t.jpg", "file a/bb/s.jpg", "file a/b/c.d/r.jpg", "file a/b/0.jpg"]),
    ("letters of both cases", IMAGES, False, [
        "file Zebra/A.JPG", "file Zebra/a.Jpg", "file Zebra/a.jpeg", "file ant/B.PnG", "file ant/_.bmp", "file Ant/x.tiff",
        "file Ant/x.jpg.txt", "file Ant/jpg", "file Ant/x.jpgg", "file Ant/x.tif"]),
    ("hidden", IMAGES, False, [
        "file .git/a.jpg", "file a/.jpg", "file a/.hidden.jpg", "file a/.cache/b.jpg", "file a/._b.jpg", "file a/c.jpg"]),
    ("links", IMAGES, False, [
        "file real/a.jpg", "file real/sub/b.jpg", "link linked_class real", "link real/c.jpg a.jpg", "link real/there sub",
        "link real/nowhere.jpg does-not-exist", "link nowhere does-not-exist", "file other/x.jpg", "link other/up ../real"]),
    ("unicode", IMAGES, False, [
        "file \u00e9t\u00e9/a.jpg", "file etc/a.jpg", "file \u96ea/\U0001f600.jpg", "file \u96ea/\uffee.jpg",
        "file \u96ea/\ue000.jpg", "file \u96ea/z.jpg", "file \u96ea/\u00e9.jpg", "file \u96ea/e\u0301.jpg"]),
    ("no utf-8", IMAGES, False, [
        "file \udcff/a.jpg", "file \ue000/a.jpg", "file \ud7ff/a.jpg", "file \U0001f600/a.jpg", "file \udc80/a.jpg",
        "file x/\udce9.jpg", "file x/\udcc3(.jpg", "file x/\udced\udca0\udc80.jpg", "file x/\ue001.jpg", "file x/\ud7fe.jpg",
        "file x/\udcf0\udc9f.jpg", "file x/\udcc0\udcaf.jpg", "file x/\udcf5.jpg", "file x/\u00ff.jpg"]),
    ("own extensions", (".bin", ".tar.gz"), False, [
        "file a/x.BIN", "file a/x.bin.gz", "file a/x.tar.gz", "file a/x.TAR.GZ", "file b/y.bin", "file b/y.jpg"]),
    ("empty classes allowed", IMAGES, True, [
        "file a/x.jpg", "folder b", "file c/y.txt", "folder d/e/f", "file e/deep/er/x.jpg"]),
    ("spaces", IMAGES, False, [
        "file a b/x y.jpg", "file a/x.jpg", "file a!/x.jpg", "file a/ .jpg", "file a/\n.jpg", "file a/\\.jpg"]),
]


def make(root, entry):
    kind, rest = entry.split(" ", 1)
    words = rest.rsplit(" ", 1) if kind == "link" else [rest]
    path = os.path.join(root, words[0])
    if kind == "folder":
        os.makedirs(path)
        return kind, words
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if kind == "link":
        os.symlink(words[1], path)
    else:
        with open(path, "wb"):
            pass
    return kind, words


def main():
    print(f"# DatasetFolder of torchvision {torchvision.__version__.split('+')[0]}; made by folder_order.py")
    for name, extensions, allow_empty, entries in CASES:
        with tempfile.TemporaryDirectory() as root:
            print(f"case {quote(name)}")
            print("extensions " + (" ".join(extensions) or "-"))
            print(f"allow_empty {int(allow_empty)}")
            for entry in entries:
                kind, words = make(root, entry)
                print(" ".join([kind, *map(quote, words)]))
            if extensions:
                found = DatasetFolder(root, loader=None, extensions=extensions, allow_empty=allow_empty)
            else:
                found = ImageFolder(root, loader=None, allow_empty=allow_empty)
            for which in found.classes:
                print(f"class {quote(which)}")
            for path, label in found.samples:
                print(f"sample {label} {quote(os.path.relpath(path, root))}")


main()
