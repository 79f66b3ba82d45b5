package snapshot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

func (t *taker) sysctls() {
	t.snapshot.Sysctls = map[string]string{}
	root := filepath.Join(t.proc, "sys", "net")
	devices := map[string][]os.DirEntry{} // by the folder that has one for each
	for _, pattern := range sysctlFiles() {
		folder, setting, ofDevices := strings.Cut(pattern, "/*/")
		if !ofDevices {
			// The patterns are well formed, which is all that Glob has errors for.
			files, _ := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
			for _, file := range files {
				t.sysctl(root, file)
			}
			continue
		}
		folder = filepath.Join(root, filepath.FromSlash(folder))
		if _, known := devices[folder]; !known {
			devices[folder], _ = os.ReadDir(folder) // one that is not there has no settings
		}
		for _, device := range devices[folder] {
			t.sysctl(root, filepath.Join(folder, device.Name(), setting))
		}
	}
}

func (t *taker) sysctl(root, file string) {
	name := "net." + strings.ReplaceAll(strings.TrimPrefix(file, root+"/"), "/", ".")
	if isSysctlOfMoment(name) {
		return
	}
	data, err := readSetting(file)
	if errors.Is(err, fs.ErrNotExist) {
		return // a device that went away in between
	}
	if err != nil {
		t.unread("sysctl "+name, "%v", err)
		return
	}
	t.snapshot.Sysctls[name] = strings.Join(strings.Fields(string(data)), " ")
}

// readSetting reads a file of /proc/sys, which the kernel hands over at once. There are hundreds of them, and os.ReadFile makes twice as
// many system calls.
func readSetting(file string) ([]byte, error) {
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: file, Err: err}
	}
	defer func() { _ = unix.Close(fd) }()
	buf := make([]byte, settingSize)
	n, err := unix.Read(fd, buf)
	switch {
	case err != nil:
		return nil, &fs.PathError{Op: "read", Path: file, Err: err}
	case n == len(buf):
		return os.ReadFile(file)
	}
	return buf[:n], nil
}

// settingSize is longer than any setting that is known.
const settingSize = 256
