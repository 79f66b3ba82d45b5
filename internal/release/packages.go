package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// checksums holds the files beside to the sums.
func (t *trial) checksums(path string) error {
	text, err := os.ReadFile(path) //nolint:gosec // it is the file that was asked for
	if err != nil {
		return err
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		const fields = 2
		if len(words) != fields {
			return fmt.Errorf("%q is no sum and name", line)
		}
		beside, err := os.ReadFile(filepath.Join(filepath.Dir(path), words[1]))
		if err != nil {
			return err
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256(beside)); sum != words[0] {
			return fmt.Errorf("%s has the sum %s, not %s", words[1], sum, words[0])
		}
		n++
	}
	if n == 0 {
		return errors.New("it has no sums")
	}
	t.did("%d sums hold", n)
	return nil
}

// linkedBy is a module that a program of a release links.
func linkedBy(file string) string {
	if strings.HasPrefix(file, provisioner) {
		return "sigs.k8s.io/kind"
	}
	return "k8s.io/utils"
}

// components reads a list of what a program was built from.
func (t *trial) components(path string) error {
	text, err := os.ReadFile(path) //nolint:gosec // it is the file that was asked for
	if err != nil {
		return err
	}
	var list struct {
		Components []struct {
			Name string `json:"name"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	linked := linkedBy(filepath.Base(path))
	for _, c := range list.Components {
		if c.Name == linked {
			t.did("%d components", len(list.Components))
			return nil
		}
	}
	return fmt.Errorf("the program links %s, and the list of components does not have it", linked)
}

// sums holds what an index of krew or Homebrew says of archives to the file of all sums.
func (t *trial) sums(path string) error {
	text, err := os.ReadFile(path) //nolint:gosec // it is the file that was asked for
	if err != nil {
		return err
	}
	var known []byte
	for folder := filepath.Dir(path); known == nil; folder = filepath.Dir(folder) {
		if known, err = os.ReadFile(filepath.Join(folder, "checksums.txt")); err != nil && folder == filepath.Dir(folder) {
			return err
		}
	}
	if bad := regexp.MustCompile(`https://github\.com/\S*?//\S*`).Find(text); bad != nil {
		return fmt.Errorf("it has the address %s, which names no repository", bad)
	}
	found := regexp.MustCompile(`\b[0-9a-f]{64}\b`).FindAllString(string(text), -1)
	for _, sum := range found {
		if !bytes.Contains(known, []byte(sum)) {
			return fmt.Errorf("it has the sum %s, which no file of checksums.txt has", sum)
		}
	}
	if len(found) == 0 {
		return errors.New("it has no sums of archives")
	}
	t.did("%d sums match the archives", len(found))
	return nil
}

// archive unpacks an archive, and tries its program.
func (t *trial) archive(path string) error {
	var err error
	if strings.HasSuffix(path, ".zip") {
		err = t.unzip(path)
	} else {
		err = t.untar(path)
	}
	if err != nil {
		return err
	}
	return t.unpacked()
}

// unpacked tries the program that an archive or an image has put into the folder.
func (t *trial) unpacked() error {
	for _, name := range []string{"chainwalk", "chainwalk.exe", collector, provisioner} {
		if _, err := os.Stat(filepath.Join(t.folder, name)); err == nil {
			return t.program(filepath.Join(t.folder, name))
		}
	}
	return fmt.Errorf("it has no program chainwalk, %s or %s", collector, provisioner)
}

func (t *trial) untar(path string) error {
	f, err := os.Open(path) //nolint:gosec // it is the file that was asked for
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	return t.files(unpacked)
}

// files writes the files of a tar archive whose names say nothing of folders.
func (t *trial) files(r io.Reader) error {
	for files := tar.NewReader(r); ; {
		file, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if file.Typeflag == tar.TypeReg && !strings.Contains(file.Name, "/") {
			if err := t.write(file.Name, files); err != nil {
				return err
			}
		}
	}
}

func (t *trial) unzip(path string) error {
	r, err := zip.OpenReader(path)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // only read
	for _, file := range r.File {
		if strings.Contains(file.Name, "/") {
			continue
		}
		content, err := file.Open()
		if err != nil {
			return err
		}
		if err := t.write(file.Name, content); err != nil {
			return err
		}
	}
	return nil
}

func (t *trial) write(name string, from io.Reader) error {
	path := filepath.Join(t.folder, filepath.Base(name))
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o700) //nolint:gosec,mnd // a program is started
	if err != nil {
		return err
	}
	_, err = io.Copy(out, from) //nolint:gosec // it was built here
	return errors.Join(err, out.Close())
}

// deb installs a package below a folder, where dpkg is, and tries what it has put there.
func (t *trial) deb(path string) error {
	if _, err := exec.LookPath("dpkg"); err != nil {
		t.did("not tried: %v", err)
		return nil
	}
	for _, folder := range []string{"var/lib/dpkg/info", "var/lib/dpkg/updates"} {
		if err := os.MkdirAll(filepath.Join(t.folder, folder), 0o750); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(t.folder, "var/lib/dpkg/status"), nil, 0o600); err != nil {
		return err
	}
	if _, err := output([]string{"dpkg", "--root=" + t.folder, "--force-not-root", "--force-architecture", "--install", path}); err != nil {
		return err
	}
	t.did("installed by dpkg below a folder")
	return t.installed()
}

// rpm unpacks a package, where rpm2cpio and cpio are.
func (t *trial) rpm(path string) error {
	for _, tool := range []string{"rpm2cpio", "cpio"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.did("not tried: %v", err)
			return nil
		}
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if _, err := output([]string{"sh", "-c",
		`cd "$1" && rpm2cpio "$2" | cpio --quiet --no-absolute-filenames -idm`, "sh", t.folder, path}); err != nil {
		return err
	}
	t.did("unpacked by rpm2cpio")
	return t.installed()
}

// installed tries what a package has put below the folder.
func (t *trial) installed() error {
	for _, name := range []string{"usr/share/man/man1/chainwalk-trace.1.gz", "usr/share/bash-completion/completions/chainwalk"} {
		info, err := os.Stat(filepath.Join(t.folder, name))
		if err != nil {
			return err
		}
		const others = 0o004
		if info.Mode()&others == 0 {
			return fmt.Errorf("%s: nobody but its owner can read it", name)
		}
	}
	if err := t.program(filepath.Join(t.folder, "usr/bin", provisioner)); err != nil {
		return err
	}
	return t.program(filepath.Join(t.folder, "usr/bin/chainwalk"))
}

// image unpacks an image, and tries the program that is all it has.
func (t *trial) image(path string) error {
	image, err := tarball.ImageFromPath(path, nil)
	if err != nil {
		return err
	}
	content := mutate.Extract(image)
	defer func() { _ = content.Close() }() // only read
	if err := t.files(content); err != nil {
		return err
	}
	reference, err := referenceOf(path)
	if err != nil {
		return err
	}
	t.did("unpacked %s", reference)
	return t.unpacked()
}

// referenceOf is the name under which docker load puts an image.
func referenceOf(path string) (string, error) {
	manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) {
		return os.Open(path) //nolint:gosec // it is the file that was asked for
	})
	if err != nil {
		return "", err
	}
	if len(manifest) != 1 || len(manifest[0].RepoTags) != 1 {
		return "", errors.New("it is not one image with one name")
	}
	return manifest[0].RepoTags[0], nil
}
