package toolstate

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/chainwalk/chainwalk/fakeipt"
)

// part is one file of the state: the rules of a family and a dialect, or the objects.
type part struct {
	family  fakeipt.Family // 0: the objects
	dialect fakeipt.Dialect
}

var objects = part{}

// name is the part's file name.
func (p part) name() string {
	if p == objects {
		return "objects"
	}
	return fmt.Sprintf("ipv%d-%s", p.family, p.dialect)
}

// formatVersion is the version of the format.
const formatVersion = 1

// headFormat is the first line of a part: the format's version, the part, the length and checksum of what follows.
const headFormat = "#chainwalk-state %d %s %d %08x\n"

// writtenPrefix begins the second line: when the part was written, which the timeouts of sets count from.
const writtenPrefix = "#written "

// checksum is there to notice damage, not malice.
func checksum(body []byte) uint32 {
	return crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli))
}

// damaged is a part that is not what was written.
func damaged(path, why string) error {
	return fmt.Errorf("%s is damaged: %s; restore it from a copy, or remove it to begin with no rules", path, why)
}

// stored is a part as it was found.
type stored struct {
	text    []byte // with the head, which is comments to the readers; nil if nothing has been written
	written time.Time
}

// path is the part's file.
func (s *Store) path(p part) string { return filepath.Join(s.dir, p.name()) }

// read returns a part.
func (s *Store) read(p part) (stored, error) {
	path := s.path(p)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return stored{}, nil
	}
	if err != nil {
		return stored{}, fmt.Errorf("reading the state: %w", err)
	}
	head, body, _ := bytes.Cut(text, []byte("\n"))
	var version, length int
	var name string
	var sum uint32
	if _, err := fmt.Sscanf(string(head)+"\n", headFormat, &version, &name, &length, &sum); err != nil {
		return stored{}, damaged(path, "its first line is not that of a state file")
	}
	switch {
	case version != formatVersion:
		return stored{}, fmt.Errorf("%s has version %d of the format, this program knows %d: use the program that wrote it, "+
			"or remove the file to begin with no rules", path, version, formatVersion)
	case name != p.name():
		return stored{}, damaged(path, fmt.Sprintf("it says that it is %q", name))
	case length != len(body):
		return stored{}, damaged(path, fmt.Sprintf("it has %d bytes below its first line and should have %d", len(body), length))
	case sum != checksum(body):
		return stored{}, damaged(path, "its checksum is wrong")
	}
	second, _, _ := bytes.Cut(body, []byte("\n"))
	written, err := time.Parse(time.RFC3339, strings.TrimPrefix(string(second), writtenPrefix))
	if err != nil {
		return stored{}, damaged(path, "its second line does not say when it was written")
	}
	return stored{text, written}, nil
}

// write replaces a part. The caller holds the lock.
func (s *Store) write(p part, body []byte, now time.Time) error {
	path := s.path(p)
	body = append(fmt.Appendf(nil, "%s%s\n", writtenPrefix, now.UTC().Format(time.RFC3339)), body...)
	head := fmt.Appendf(nil, headFormat, formatVersion, p.name(), len(body), checksum(body))
	if err := writeSynced(path+".new", head, body); err != nil {
		return fmt.Errorf("writing the state: %w%s", err, elsewhere(err))
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	return syncDir(s.dir)
}

// elsewhere says what to do about a folder that cannot be written.
func elsewhere(err error) string {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return "; set " + envState + " to a folder that can be written"
	}
	return ""
}

// writeSynced makes a file that is on the disk when it returns.
func writeSynced(path string, pieces ...[]byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	for _, piece := range pieces {
		if _, err = f.Write(piece); err != nil {
			break
		}
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// load fills a kernel with a part: with no more than what is looked at, and then others are the rest. Its clock stands at the time of
// writing meanwhile.
func (s *Store) load(k *fakeipt.Kernel, p part, look view, clock *runClock) (others otherTables, err error) {
	if rs := s.known.ruleset(s.path(p), p); rs != nil {
		return others, k.Adopt(rs)
	}
	found, err := s.read(p)
	if err != nil || found.text == nil {
		return others, err
	}
	now := clock.now
	clock.now = found.written
	defer func() { clock.now = now }()
	path := s.path(p)
	if p == objects {
		return others, unusable(k.ReadObjects(path, bytes.NewReader(found.text)))
	}
	if s.known == nil && look.table != "" {
		one, rest := look.of(found.text)
		if one != nil && k.ReadState(p.family, path, bytes.NewReader(one)) == nil {
			return rest, nil
		}
	}
	if err := k.ReadState(p.family, path, bytes.NewReader(found.text)); err != nil {
		return others, unusable(err)
	}
	s.known.keep(path, p, k.Ruleset(p.family))
	return others, nil
}

// unusable says what to do about a state that cannot be read.
func unusable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the state cannot be used: %w; correct the rules with the program that wrote them, "+
		"or remove the file to begin with none", err)
}

// body is a part of a kernel as it is written.
func body(k *fakeipt.Kernel, p part) ([]byte, error) {
	var b bytes.Buffer
	var err error
	if p == objects {
		err = k.WriteObjects(&b)
	} else {
		err = k.WriteState(p.family, &b)
	}
	return b.Bytes(), err
}
