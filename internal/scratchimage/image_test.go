package scratchimage

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// program is a file that looks like one for Linux, with libraries or without.
func program(t *testing.T, machine elf.Machine, segment elf.ProgType) []byte {
	header := elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT),
		Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1,
	}
	var file bytes.Buffer
	require.NoError(t, binary.Write(&file, binary.LittleEndian, header))
	require.NoError(t, binary.Write(&file, binary.LittleEndian, elf.Prog64{Type: uint32(segment)}))
	return file.Bytes()
}

func TestImageHasOneProgram(t *testing.T) {
	binary := program(t, elf.EM_AARCH64, elf.PT_LOAD)
	packed, err := New("chainwalk", binary)
	require.NoError(t, err)
	assert.Regexp(t, `^localhost/chainwalk:[0-9a-f]{16}$`, packed.String())
	again, err := New("chainwalk", append(binary, 0))
	require.NoError(t, err)
	assert.NotEqual(t, packed.String(), again.String(), "another binary is another image")

	var archive bytes.Buffer
	require.NoError(t, packed.Archive(&archive))
	tag, err := name.NewTag(packed.Reference)
	require.NoError(t, err)
	read, err := tarball.Image(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil }, &tag)
	require.NoError(t, err)
	config, err := read.ConfigFile()
	require.NoError(t, err)
	assert.Equal(t, []string{"linux", "arm64"}, []string{config.OS, config.Architecture})
	assert.Equal(t, []string{"/chainwalk"}, config.Config.Entrypoint)
	layers, err := read.Layers()
	require.NoError(t, err)
	require.Len(t, layers, 1)
	said, err := read.RawConfigFile()
	require.NoError(t, err)
	assert.JSONEq(t, string(packed.config), string(said))
	held, err := layers[0].DiffID()
	require.NoError(t, err)
	assert.Equal(t, config.RootFS.DiffIDs[0], held, "the image's name for its layer is of the layer's content")
	content, err := layers[0].Uncompressed()
	require.NoError(t, err)
	files := tar.NewReader(content)
	file, err := files.Next()
	require.NoError(t, err)
	assert.Equal(t, "chainwalk", file.Name)
	assert.EqualValues(t, 0o755, file.Mode)
	found, err := io.ReadAll(files)
	require.NoError(t, err)
	assert.Equal(t, binary, found)
	_, err = files.Next()
	assert.ErrorIs(t, err, io.EOF)
}

func TestImageRefusesWhatItCannotRun(t *testing.T) {
	for about, row := range map[string]struct {
		binary []byte
		want   string
	}{
		"a program with libraries":     {program(t, elf.EM_X86_64, elf.PT_INTERP), "build it with CGO_ENABLED=0"},
		"a program of another system":  {[]byte("#!/bin/sh\n"), "build it with GOOS=linux"},
		"a machine that no node image": {program(t, elf.EM_AVR, elf.PT_LOAD), "architecture EM_AVR"},
	} {
		t.Run(about, func(t *testing.T) {
			_, err := New("chainwalk", row.binary)
			assert.ErrorContains(t, err, row.want)
		})
	}
}
