package statefolder

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Folder is a folder with parts of a state.
type Folder struct {
	// Path is where it is.
	Path string
	// Elsewhere is put behind the error of a folder that may not be written: what to do about it.
	Elsewhere string
}

// headFormat is the first line of a part: the format's version, the part, the length and checksum of what follows.
const headFormat = "#chainwalk-state %d %s %d %08x\n"

// checksum is there to notice damage, not malice.
func checksum(body []byte) uint32 {
	return crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli))
}

// Unusable is a part that cannot be read, and why.
type Unusable struct{ Why string }

// Error is the reason.
func (u *Unusable) Error() string { return u.Why }

// File is the file of a part.
func (f Folder) File(part string) string { return filepath.Join(f.Path, part) }

// Read returns what is in a part, nil if nothing has been written. One that is not what was written, or is of another version of the
// format, is an *Unusable error.
func (f Folder) Read(part string, version int) ([]byte, error) {
	text, err := os.ReadFile(f.File(part))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the state: %w", err)
	}
	head, body, _ := bytes.Cut(text, []byte("\n"))
	var found, length int
	var name string
	var sum uint32
	_, err = fmt.Sscanf(string(head)+"\n", headFormat, &found, &name, &length, &sum)
	if err != nil || fmt.Sprintf(headFormat, found, name, length, sum) != string(head)+"\n" {
		return nil, &Unusable{"its first line is not that of a state file"}
	}
	switch {
	case found != version:
		return nil, &Unusable{fmt.Sprintf("it has version %d of the format, and this program knows %d", found, version)}
	case name != part:
		return nil, &Unusable{fmt.Sprintf("it says that it is %q", name)}
	case length != len(body):
		return nil, &Unusable{fmt.Sprintf("it has %d bytes below its first line and should have %d", len(body), length)}
	case sum != checksum(body):
		return nil, &Unusable{"its checksum is wrong"}
	}
	return body, nil
}

// Write replaces a part: written beside, synced, renamed, and the folder synced. The caller holds the lock.
func (f Folder) Write(part string, version int, body []byte) error {
	path := f.File(part)
	head := fmt.Appendf(nil, headFormat, version, part, len(body), checksum(body))
	if err := writeSynced(path+".new", head, body); err != nil {
		return fmt.Errorf("writing the state: %w%s", err, f.Advice(err))
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	return syncDir(f.Path)
}

// Advice is what to do about an error, if it is that the folder may not be written.
func (f Folder) Advice(err error) string {
	if isReadOnly(err) {
		return f.Elsewhere
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

// SetAside gives the file of an unusable part another name, so that the tool and all after it go on without, and returns what is to be said
// of it; left names what is in the part. Where the folder may not be written the file stays, and is passed by.
func (f Folder) SetAside(part string, why *Unusable, left string) (string, error) {
	path := f.File(part)
	aside, err := freeName(path + ".damaged")
	if err == nil {
		err = os.Rename(path, aside)
	}
	switch {
	case isReadOnly(err):
		return fmt.Sprintf("%s cannot be used: %s; it may not be put aside, and is passed by: there are no %s", path, why, left), nil
	case err != nil:
		return "", fmt.Errorf("putting aside the state, which cannot be used: %w", err)
	}
	return fmt.Sprintf("%s cannot be used: %s; it was put aside as %s, and the tools begin with no %s", path, why, aside, left), nil
}

// freeName is the name, or else the name with the first number behind it that no file has.
func freeName(name string) (string, error) {
	free := name
	for n := 2; ; n++ {
		_, err := os.Lstat(free)
		if errors.Is(err, fs.ErrNotExist) {
			return free, nil
		}
		if err != nil {
			return "", err
		}
		free = fmt.Sprintf("%s-%d", name, n)
	}
}
