package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/chainwalk/chainwalk/internal/scratchimage"
)

func main() {
	dist := flag.String("dist", "dist", "goreleaser's folder")
	node := flag.String("node", "internal/dumps/kind-v1.34/legacy/demo-worker.yaml", "the NodeSnapshot that started programs walk a packet of")
	image := flag.String("image", "", "PROGRAM: write a container image of it to the file that follows, and do nothing else")
	system := flag.String("os", "linux", "with -image: the system that the program is for; for another than linux no image is written")
	tag := flag.String("tag", "", "with -image: the image's tag, in the registry of releases")
	flag.Parse()
	var err error
	switch {
	case *image == "":
		err = tryAll(*dist, *node)
	case *system == "linux":
		err = writeImage(*image, *tag, flag.Arg(0))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// registry is where releases publish their images. "chainwalk doctor -A" takes the collector's from there.
const registry = "ghcr.io/chainwalk/"

// writeImage packs a program into an image, as docker load and podman load read it.
func writeImage(program, tag, file string) error {
	if file == "" || tag == "" {
		return errors.New("-image PROGRAM -tag TAG FILE: FILE or TAG is missing")
	}
	base := filepath.Base(program)
	packed, err := scratchimage.Read(base, program)
	if err != nil {
		return err
	}
	reference, err := name.NewTag(registry + base + ":" + tag)
	if err != nil {
		return err
	}
	packed.Reference = reference.String()
	out, err := os.Create(file) //nolint:gosec // it is the file that was asked for
	if err != nil {
		return err
	}
	return errors.Join(packed.Archive(out), out.Close())
}

// artefact is a file of a release, and what came of trying it.
type artefact struct {
	path  string // in the folder
	size  int64
	tried []string
	wrong error
}

func tryAll(dist, node string) error {
	var all []artefact
	err := filepath.WalkDir(dist, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !isArtefact(path) {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		a := artefact{path: path, size: info.Size()}
		a.tried, a.wrong = try(path, node)
		all = append(all, a)
		return nil
	})
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return fmt.Errorf("%s has no artefact of a release", dist)
	}
	var failed error
	for _, a := range all {
		fmt.Printf("%10d  %s: %s\n", a.size, strings.TrimPrefix(a.path, dist+string(filepath.Separator)), strings.Join(a.tried, ", "))
		if a.wrong != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", a.path, a.wrong))
		}
	}
	return failed
}

// kinds are the ends of names of artefacts; the rest of the folder is goreleaser's own.
func kinds() []string {
	return []string{".tar.gz", ".zip", ".deb", ".rpm", ".cdx.json", "checksums.txt", "image.tar", "/chainwalk.yaml", "/chainwalk.rb"}
}

func isArtefact(path string) bool {
	return slices.ContainsFunc(kinds(), func(end string) bool { return strings.HasSuffix(filepath.ToSlash(path), end) })
}

// try tries one file by the end of its name.
func try(path, node string) (tried []string, err error) {
	folder, err := os.MkdirTemp("", "release")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	t := trial{folder: folder, node: node}
	switch slashed := filepath.ToSlash(path); {
	case strings.HasSuffix(slashed, "checksums.txt"):
		err = t.checksums(path)
	case strings.HasSuffix(slashed, ".cdx.json"):
		err = t.components(path)
	case strings.HasSuffix(slashed, "/chainwalk.yaml"), strings.HasSuffix(slashed, "/chainwalk.rb"):
		err = t.sums(path)
	case strings.HasSuffix(slashed, ".deb"):
		err = t.deb(path)
	case strings.HasSuffix(slashed, ".rpm"):
		err = t.rpm(path)
	case strings.HasSuffix(slashed, "image.tar"):
		err = t.image(path)
	default:
		err = t.archive(path)
	}
	return t.tried, err
}
