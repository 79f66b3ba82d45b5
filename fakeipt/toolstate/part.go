package toolstate

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/netfilter"
)

// part is one file of the state: the rules of a family and a dialect, or the objects.
type part struct {
	family  netfilter.Family // 0: the objects
	dialect netfilter.Dialect
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
const formatVersion = 2

// headFormat is the first line of a part: the format's version, the part, the length and checksum of what follows.
const headFormat = "#chainwalk-state %d %s %d %08x\n"

// checksum is there to notice damage, not malice.
func checksum(body []byte) uint32 {
	return crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli))
}

// unusable is a part that cannot be read, and why.
type unusable struct{ why string }

func (u *unusable) Error() string { return u.why }

// path is the part's file.
func (s *Store) path(p part) string { return filepath.Join(s.dir, p.name()) }

// read returns what is in a part, nil if nothing has been written. An unusable one is not what was written.
func (s *Store) read(p part) ([]byte, error) {
	text, err := os.ReadFile(s.path(p))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the state: %w", err)
	}
	head, body, _ := bytes.Cut(text, []byte("\n"))
	var version, length int
	var name string
	var sum uint32
	_, err = fmt.Sscanf(string(head)+"\n", headFormat, &version, &name, &length, &sum)
	if err != nil || fmt.Sprintf(headFormat, version, name, length, sum) != string(head)+"\n" {
		return nil, &unusable{"its first line is not that of a state file"}
	}
	switch {
	case version != formatVersion:
		return nil, &unusable{fmt.Sprintf("it has version %d of the format, and this program knows %d", version, formatVersion)}
	case name != p.name():
		return nil, &unusable{fmt.Sprintf("it says that it is %q", name)}
	case length != len(body):
		return nil, &unusable{fmt.Sprintf("it has %d bytes below its first line and should have %d", len(body), length)}
	case sum != checksum(body):
		return nil, &unusable{"its checksum is wrong"}
	}
	return body, nil
}

// write replaces a part. The caller holds the lock.
func (s *Store) write(p part, body []byte) error {
	path := s.path(p)
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
	if isReadOnly(err) {
		return "; set " + envState + " to a folder that can be written"
	}
	return ""
}

// isReadOnly says that a folder or a file may not be written.
func isReadOnly(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
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

// load fills a kernel with a part: with no more than what is looked at, and then others are the rest.
func (s *Store) load(k *fakeipt.Kernel, p part, look view) (others otherTables, err error) {
	if rs := s.known.ruleset(s.path(p), p); rs != nil {
		return others, k.Adopt(rs)
	}
	body, err := s.read(p)
	if err != nil || body == nil {
		return others, err
	}
	if p == objects {
		return others, asUnusable(k.ReadObjects(body))
	}
	tables, err := ruleset.StateTables(body)
	if err != nil {
		return others, asUnusable(err)
	}
	if s.known != nil {
		look = view{}
	}
	tables, others = look.of(tables)
	if err := k.ReadState(p.family, tables, look.chains); err != nil {
		return otherTables{}, asUnusable(err)
	}
	if s.known != nil {
		s.known.keep(s.path(p), p, k.Ruleset(p.family))
	}
	return others, nil
}

// asUnusable is an error of reading what was stored.
func asUnusable(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ruleset.ErrOtherState):
		return &unusable{"another version of chainwalk has written it"}
	}
	return &unusable{err.Error()}
}

// body is a part of a kernel as it is written.
func body(k *fakeipt.Kernel, p part) []byte {
	if p == objects {
		return k.AppendObjects(nil)
	}
	return k.AppendState(nil, p.family)
}
