package nodeimage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// release of Debian. Its containerd 1.6 and runc 1.1 are what node was tried with.
const release = "bookworm"

// Mirror is where Debian's packages usually come from.
const Mirror = "http://deb.debian.org/debian"

// packages that a node needs, and those that chainwalk's proxier and its tests run in it.
var packages = []string{
	"ca-certificates", "conntrack", "containerd", "containernetworking-plugins", "dbus", "ethtool", "iproute2", "ipset", "iptables", "kmod",
	"mount", "nfacct", "nftables", "procps", "runc", "socat", "systemd", "systemd-sysv", "tcpdump", "util-linux",
}

// fetched is what an installation leaves of its making.
var fetched = []string{"var/cache/apt/archives/*.deb", "var/lib/apt/lists/*", "var/cache/debconf/*-old", "var/log/*.log", "var/log/apt/*"}

// dropped is what no node reads.
var dropped = append(slices.Clone(fetched), "usr/share/doc/*", "usr/share/man/*", "usr/share/info/*", "usr/share/locale/*")

// InstallDebian installs packages of Debian, and what they need, into a folder of the cache, unless they are there, and returns the folder.
// None of their daemons is started. It needs debootstrap and root.
func InstallDebian(ctx context.Context, o Options, packages []string) (folder string, err error) {
	return keep(o.Cache, "debian", keyOf(append([]string{release, o.Mirror}, packages...)...), func(folder string) error {
		fmt.Fprintf(o.Out, "installing Debian %s from %s\n", release, o.Mirror)
		if err := debootstrap(ctx, folder, o.Mirror, packages); err != nil {
			return err
		}
		return drop(folder, fetched)
	})
}

// importDebian makes an image of Debian's packages, unless Docker has it, and returns its name.
func importDebian(ctx context.Context, o Options) (tag string, err error) {
	tag = debianTag(o.Mirror)
	if _, err := docker(ctx, nil, "image", "inspect", "--format", "{{.Id}}", tag); err == nil {
		return tag, nil
	}
	fmt.Fprintf(o.Out, "installing Debian %s from %s\n", release, o.Mirror)
	if err := os.MkdirAll(o.Cache, 0o755); err != nil {
		return "", err
	}
	root, err := os.MkdirTemp(o.Cache, ".debian-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(root)) }()
	if err := debootstrap(ctx, root, o.Mirror, packages); err != nil {
		return "", err
	}
	if err := drop(root, dropped); err != nil {
		return "", err
	}
	return tag, importTree(ctx, root, tag)
}

// debianTag is the name of the image of Debian's packages. They are installed anew when the list of them changes, not when Debian has
// newer ones.
func debianTag(mirror string) string {
	return "chainwalk/node-debian:" + string(keyOf(append(append([]string{release, mirror}, packages...), dropped...)...))
}

func debootstrap(ctx context.Context, root, mirror string, packages []string) error {
	if os.Geteuid() != 0 {
		return errors.New("installing Debian into a folder needs root")
	}
	argv := []string{"debootstrap", "--variant=minbase", "--include=" + strings.Join(packages, ","), release, root, mirror}
	_, err := command{argv: argv, private: true}.run(ctx)
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("%w; install debootstrap (apt-get install debootstrap)", err)
	}
	return err
}

// drop removes the files of these patterns.
func drop(root string, patterns []string) error {
	for _, pattern := range patterns {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return err
		}
		for _, path := range paths {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// importTree makes an image of a folder.
func importTree(ctx context.Context, root, tag string) error {
	archive, end := io.Pipe()
	done := make(chan error, 1)
	go func() {
		pack := exec.CommandContext(ctx, "tar", "--create", "--one-file-system", "--numeric-owner", "--xattrs", "--directory", root, ".")
		pack.Stdout = end
		err := pack.Run()
		end.CloseWithError(err)
		done <- err
	}()
	_, err := docker(ctx, archive, "import", "-", tag)
	_ = archive.Close() // lets tar end if Docker did before
	return errors.Join(err, <-done)
}
