"""scripts/setup and Debian's packages: only what is missing, and one sentence where it cannot be had."""
import os
import pathlib
import unittest

from fake_machine import FakeMachine, assert_sentence

SETUP = ("scripts/setup", "--only", "build", "--without-libtorch")
NO_ROOT = 'if [[ $* == -u ]]; then echo 1000; else echo someone; fi'
APT_OFFLINE = (
    "Temporary failure resolving 'deb'",
    "Could not resolve 'proxy'",
    "Unable to connect to deb:http: [IP: 127.0.0.1 9]",
    "Could not connect to deb:80 (127.0.0.1). - connect (113: No route to host)",
    "Failed to connect to 127.0.0.1 port 9: Connection refused",
    "Could not connect to deb:80 (127.0.0.1), connection timed out",
)


def apt_that_installs(listing):
    return f'if [[ $1 == install ]]; then for name; do echo "installed $name" >>"{listing}"; done; fi'


class SetupPackages(unittest.TestCase):
    def setUp(self):
        self.machine = FakeMachine(self)
        self.machine.fake("id", "echo 0")

    def test_nothing_missing_calls_no_apt(self):
        result = self.machine.run(*SETUP)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("setup: [1/1] Debian packages ... present", result.stdout)
        self.assertEqual(self.machine.calls("apt-get"), [])

    def test_installs_exactly_the_missing_ones_in_one_call(self):
        listing = self.machine.installed("g++", "libgtest-dev")
        self.machine.fake("apt-get", apt_that_installs(listing))
        result = self.machine.run(*SETUP)
        self.assertEqual(result.returncode, 0, result.stderr)
        calls = self.machine.calls("apt-get")
        self.assertEqual([call.split()[0] for call in calls], ["update", "install"])
        self.assertEqual(calls[1], "install --yes --no-install-recommends g++ libgtest-dev")
        self.machine.run(*SETUP)
        self.assertEqual(len(self.machine.calls("apt-get")), 2)

    def test_a_program_from_elsewhere_counts_as_present(self):
        self.machine.installed("cmake", "shellcheck")
        self.machine.fake("cmake", "exit 0")
        result = self.machine.run(*SETUP)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.machine.calls("apt-get"), [])

    def test_missing_compiler_without_root_and_sudo(self):
        self.machine.installed("g++")
        self.machine.fake("id", NO_ROOT)
        result = self.machine.run(*SETUP)
        assert_sentence(self, result, "g++", "neither root nor sudo", "apt-get install --no-install-recommends g++")
        self.assertEqual(self.machine.calls("apt-get"), [])

    def test_sudo_that_refuses(self):
        self.machine.installed("g++")
        self.machine.fake("id", NO_ROOT)
        self.machine.fake("sudo", "echo 'sudo: a password is required' >&2; exit 1")
        assert_sentence(self, self.machine.run(*SETUP), "g++", "sudo did not let someone")

    def test_sudo_is_used_without_root(self):
        listing = self.machine.installed("g++")
        self.machine.fake("id", NO_ROOT)
        proxies = {"http_proxy": "http://proxy:3128", "NO_PROXY": "localhost,10.0.0.0/8"}
        seen = self.machine.root + "/seen"
        # As sudo does, it removes variables that its policy does not list.
        self.machine.fake("sudo", f'[[ $1 == -n ]] && shift; unset {" ".join(proxies)}; "$@"')
        self.machine.fake("apt-get", f"env >{seen}\n" + apt_that_installs(listing))
        result = self.machine.run(*SETUP, **proxies)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(any("apt-get install" in call for call in self.machine.calls("sudo")))
        found = pathlib.Path(seen).read_text().splitlines()
        for name, value in proxies.items():
            self.assertIn(f"{name}={value}", found)

    def test_no_network(self):
        self.machine.installed("g++")
        for said in APT_OFFLINE:
            with self.subTest(said):
                self.machine.fake("apt-get", f"""
echo "Err:1 deb bookworm InRelease"
echo "  {said}"
echo "E: Some index files failed to download. They have been ignored, or old ones used instead."
exit 100""")
                assert_sentence(self, self.machine.run(*SETUP), "g++", "no network")

    def test_waits_for_the_lock_of_another_apt(self):
        listing = self.machine.installed("g++")
        self.machine.fake("sleep", "exec %s 0.1" % "/bin/sleep")
        self.machine.fake("apt-get", f"""
if [[ ! -e {listing}.tried ]]; then
  touch {listing}.tried
  if [[ ${{LC_ALL:-$LANG}} == de_DE.UTF-8 ]]; then
    echo "E: Sperre /var/lib/dpkg/lock-frontend konnte nicht angelegt werden."
  else
    echo "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 1 (apt-get)"
  fi
  exit 100
fi
""" + apt_that_installs(listing))
        result = self.machine.run(*SETUP, LC_ALL="de_DE.UTF-8")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("waiting for another apt-get or dpkg", result.stdout)

    def test_an_unknown_package_is_shown_with_the_log(self):
        self.machine.installed("g++")
        self.machine.fake("apt-get", "echo 'E: Unable to locate package g++'; exit 100")
        result = self.machine.run(*SETUP)
        assert_sentence(self, result, "g++", "apt-update.log")
        self.assertIn("Unable to locate package", result.stderr)

    def test_daemons_do_not_start_while_their_packages_are_installed(self):
        self.machine.use_real("tee")
        self.machine.with_packages()
        policy, seen = self.machine.root + "/policy", self.machine.root + "/seen"
        for package, held in (("prometheus", "101\n"), ("libgtest-dev", "no policy\n")):
            listing = self.machine.installed(package)
            ask = f"if [[ -x {policy} ]]; then {policy}; echo $?; else echo no policy; fi"
            self.machine.fake("apt-get", f"if [[ $1 == install ]]; then {ask} >{seen}; fi" + "\n" + apt_that_installs(listing))
            result = self.machine.run("scripts/setup", "--without-libtorch", RATOON_DAEMON_POLICY=policy)
            with open(seen) as file:
                self.assertEqual(file.read(), held, result.stderr)
            self.assertFalse(os.path.exists(policy), "it is left behind")

    def test_the_policy_of_a_killed_setup_is_replaced_and_that_of_the_machine_stays(self):
        self.machine.use_real("tee")
        self.machine.use_real("grep")
        self.machine.with_packages()
        policy = self.machine.root + "/policy"
        of_killed_setup = "#!/bin/sh\nif kill -0 4194303 2>/dev/null; then exit 101; fi\nexit 0\n"
        of_the_machine = "#!/bin/sh\nexit 0\n"
        for before, code, is_left in ((of_killed_setup, "101\n", False), (of_the_machine, "0\n", True)):
            pathlib.Path(policy).write_text(before)
            os.chmod(policy, 0o755)
            seen = self.machine.root + "/seen"
            listing = self.machine.installed("prometheus")
            ask = f"{policy}; echo $?"
            self.machine.fake("apt-get", f"if [[ $1 == install ]]; then ({ask}) >{seen}; fi" + "\n" + apt_that_installs(listing))
            result = self.machine.run("scripts/setup", "--without-libtorch", RATOON_DAEMON_POLICY=policy)
            self.assertEqual(pathlib.Path(seen).read_text(), code, result.stderr)
            self.assertEqual(os.path.exists(policy), is_left)

    def test_install_that_changes_nothing(self):
        self.machine.installed("g++")
        assert_sentence(self, self.machine.run(*SETUP), "g++ is still missing")

    def test_another_system(self):
        self.machine.installed("g++")
        release = self.machine.write("other", 'ID=fedora\nVERSION_ID=40\n')
        result = self.machine.run(*SETUP, RATOON_OS_RELEASE=release)
        assert_sentence(self, result, "Debian 12 only, not on fedora 40", "--without-packages")
        result = self.machine.run(*SETUP, "--without-packages", RATOON_OS_RELEASE=release)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_full_disk_is_seen_before_apt_starts(self):
        self.machine.installed("g++")
        self.machine.fake("df", "echo header; echo /dev/x 100 90 10 90% /")
        assert_sentence(self, self.machine.run(*SETUP), "needs 3000 MB free", "has 10 MB")
        self.assertEqual(self.machine.calls("apt-get"), [])

    def test_full_disk_that_apt_meets(self):
        self.machine.installed("g++")
        self.machine.fake("apt-get", "echo \"E: You don't have enough free space in /var/cache/apt/archives/.\"; exit 100")
        assert_sentence(self, self.machine.run(*SETUP), "the disk is full")

    def test_an_environment_of_python_that_is_broken_is_made_anew(self):
        setup = ("scripts/setup", "--only", "test", "--without-packages")
        python = self.machine.with_packages()
        title = "the packages that compile ratoon for Python ..."
        self.assertIn(f"{title} present", self.machine.run(*setup).stdout)
        self.machine.fake("python3", f"""
[[ $* == "-m venv "* ]] || exit 1
mkdir -p "$3/bin" && printf '#!/bin/sh\n' >{python} && chmod 755 {python}""")
        for make_broken in (lambda: os.unlink(python), lambda: pathlib.Path(python).write_text("#!/bin/sh\nexit 1\n")):
            make_broken()
            result = self.machine.run(*setup)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(f"{title} installed", result.stdout)
        self.assertIn(f"{title} present", self.machine.run(*setup).stdout)

    def test_missing_python(self):
        self.machine.remove("python3")
        result = self.machine.run(*SETUP)
        assert_sentence(self, result, "python3 is missing")

    def test_cache_that_cannot_be_written(self):
        blocked = self.machine.write("blocked", "")
        result = self.machine.run(*SETUP, XDG_CACHE_HOME=blocked)
        assert_sentence(self, result, "cannot be written", "XDG_CACHE_HOME")
        os.makedirs(f"{self.machine.cache}/.setup.lock")  # no file, as one of another user could not be opened either
        result = self.machine.run(*SETUP)
        assert_sentence(self, result, f"the cache {self.machine.cache} cannot be written", "XDG_CACHE_HOME")
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)


if __name__ == "__main__":
    unittest.main()
