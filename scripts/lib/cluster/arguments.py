"""The command line."""
import argparse
import os
import pathlib

from . import commands, lifecycle, programs
from .speech import Stop, complain
from .state import Cluster

AGAIN = "scripts/cluster --help"


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Stop(message, AGAIN, code=2)


def _whole_number(text):
    try:
        number = int(text)
    except ValueError:
        number = 0
    if not 1 <= number <= 10000:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 1")
    return number


def _parser():
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--name", default="ratoon")
    top = _Parser(prog="scripts/cluster", add_help=False)
    verbs = top.add_subparsers(dest="verb", required=True, parser_class=_Parser)

    def verb(parent, name, action, *parents):
        made = parent.add_parser(name, add_help=False, parents=[common, *parents])
        made.set_defaults(action=action)
        return made

    up = verb(verbs, "up", lifecycle.up)
    up.add_argument("--nodes", type=_whole_number, default=3)
    up.add_argument("--node-monitor-grace-period", dest="grace", type=_whole_number)
    for name, action in (("down", lifecycle.down), ("status", commands.status), ("kubeconfig", commands.print_kubeconfig)):
        verb(verbs, name, action)
    nodes = verbs.add_parser("node", add_help=False).add_subparsers(dest="node_verb", required=True, parser_class=_Parser)
    verb(nodes, "add", commands.node_add).add_argument("node", nargs="?")
    verb(nodes, "kill", commands.node_kill).add_argument("node")
    verb(nodes, "remove", commands.node_remove).add_argument("node")
    verb(nodes, "list", commands.node_list)
    images = verbs.add_parser("image", add_help=False).add_subparsers(dest="image_verb", required=True,
                                                                    parser_class=_Parser)
    load = verb(images, "load", commands.image_load)
    load.add_argument("file", type=pathlib.Path)
    load.add_argument("--node")
    return top


def cache_folder():
    home = os.environ.get("XDG_CACHE_HOME") or (os.environ.get("HOME") and os.environ["HOME"] + "/.cache")
    if not home:
        raise Stop("neither XDG_CACHE_HOME nor HOME is set", "export HOME")
    return pathlib.Path(os.environ.get("RATOON_CACHE") or pathlib.Path(home, "ratoon")).absolute()


def main(words, help_text):
    if not words or any(word in ("--help", "-h") for word in words):
        print(help_text, end="")
        return 0 if words else 2
    try:
        chosen = _parser().parse_args(words)
        cache = cache_folder()
        programs.extend_path(cache)
        if os.geteuid() != 0 and chosen.action is not commands.print_kubeconfig:
            raise Stop("a cluster needs root: it makes network namespaces and mounts", f"sudo -E {AGAIN[:-7]} ...", code=77)
        chosen.action(Cluster(cache, chosen.name), cache, chosen)
        return 0
    except Stop as stop:
        complain(str(stop))
        return stop.code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader of the output closed the pipe
        return 0
    except OSError as error:
        complain(f"{error}. Next: scripts/cluster status, which says where the logs are")
        return 1
    except KeyboardInterrupt:
        complain("interrupted. Next: scripts/cluster down, which removes what is half made")
        return 130
