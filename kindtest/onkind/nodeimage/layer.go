package nodeimage

import (
	"archive/tar"
	"bytes"
	"embed"
	"io/fs"
	"os"
	"path"
	"strings"
)

// tree is what a node has beyond Debian's packages and the programs that are built.
//
//go:embed files
var tree embed.FS

// links of a node, from path to target.
var links = [][2]string{
	{"opt/cni/bin", "/usr/lib/cni"},
	{"etc/systemd/system/multi-user.target.wants/kubelet.service", "/etc/systemd/system/kubelet.service"},
	// A container has no terminals to log in from, no devices to find, and no business with settings of the whole machine.
	{"etc/systemd/system/getty.target", "/dev/null"},
	{"etc/systemd/system/console-getty.service", "/dev/null"},
	{"etc/systemd/system/systemd-udevd.service", "/dev/null"},
	{"etc/systemd/system/systemd-sysctl.service", "/dev/null"},
	{"etc/systemd/system/systemd-modules-load.service", "/dev/null"},
	{"etc/systemd/system/systemd-binfmt.service", "/dev/null"},
	{"etc/systemd/system/systemd-firstboot.service", "/dev/null"},
	{"etc/systemd/system/proc-sys-fs-binfmt_misc.automount", "/dev/null"},
	{"etc/systemd/system/dev-hugepages.mount", "/dev/null"},
	{"etc/systemd/system/e2scrub_reap.service", "/dev/null"},
	{"etc/systemd/system/timers.target", "/dev/null"},
}

// folders of a node that kubeadm and containerd expect.
var folders = []string{"etc/kubernetes/manifests", "etc/cni/net.d", "var/lib/kubelet"}

// placeholder in the files for the name of the image that holds a pod's namespaces.
const placeholder = "PAUSE_IMAGE"

// writeLayer writes what a node has beyond Debian's packages: programs are paths on this machine by their paths in the node.
func writeLayer(out *bytes.Buffer, programs map[string]string, pauseImage string) error {
	archive := tar.NewWriter(out)
	for _, folder := range folders {
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder + "/", Mode: 0o755}); err != nil {
			return err
		}
	}
	if err := writeTree(archive, pauseImage); err != nil {
		return err
	}
	for _, link := range links {
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: link[0], Linkname: link[1], Mode: 0o777}); err != nil {
			return err
		}
	}
	if err := writeFile(archive, "kind/version", 0o644, []byte(kubernetesVersion+"\n")); err != nil {
		return err
	}
	for name, from := range programs {
		content, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := writeFile(archive, name, 0o755, content); err != nil {
			return err
		}
	}
	return archive.Close()
}

// writeTree writes the embedded files. What is in a bin folder is a program.
func writeTree(archive *tar.Writer, pauseImage string) error {
	return fs.WalkDir(tree, "files", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := tree.ReadFile(name)
		if err != nil {
			return err
		}
		mode := int64(0o644)
		if path.Base(path.Dir(name)) == "bin" {
			mode = 0o755
		}
		content = bytes.ReplaceAll(content, []byte(placeholder), []byte(pauseImage))
		return writeFile(archive, strings.TrimPrefix(name, "files/"), mode, content)
	})
}
