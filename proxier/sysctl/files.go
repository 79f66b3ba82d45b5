package sysctl

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Files are the settings of a machine.
type Files struct{ root *os.Root }

// Open returns the settings in /proc/sys and /sys below a folder, / on a node. Close must be called in the end.
func Open(folder string) (*Files, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("opening the folder of kernel settings: %w", err)
	}
	return &Files{root: root}, nil
}

// Close makes the Files unusable.
func (f *Files) Close() error { return f.root.Close() }

// Get reads a number. The name is spelled as below /proc/sys, for example "net/ipv4/conf/all/route_localnet".
func (f *Files) Get(name string) (int, error) { return f.read(procSys + name) }

// Set writes a number. A setting that is not there is an fs.ErrNotExist, a file system mounted read-only an EROFS (errors.Is).
func (f *Files) Set(name string, value int) error { return f.write(procSys+name, value) }

func (f *Files) read(path string) (int, error) {
	data, err := f.root.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("reading a kernel setting: %w", err)
	}
	value, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return 0, fmt.Errorf("reading the kernel setting %s: not a number: %q", path, data)
	}
	return value, nil
}

// write does not make the file: there is one for each setting that the kernel has.
func (f *Files) write(path string, value int) error {
	file, err := f.root.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err == nil {
		_, err = file.WriteString(strconv.Itoa(value))
		if closed := file.Close(); err == nil {
			err = closed
		}
	}
	if err != nil {
		return fmt.Errorf("setting a kernel setting to %d: %w", value, err)
	}
	return nil
}

// Cores is how many processors of the machine are in use. Where the machine does not say it is how many this process may use,
// which is less if it is bound to some of them (https://issue.k8s.io/99225).
func (f *Files) Cores() int {
	if text, err := f.root.ReadFile("sys/devices/system/cpu/online"); err == nil {
		if n, ok := countProcessors(strings.TrimSpace(string(text))); ok {
			return n
		}
	}
	return runtime.NumCPU()
}

// countProcessors counts a list of numbers and ranges such as 0-3,8. No machine has more than 8,192 of them.
func countProcessors(list string) (n int, ok bool) {
	const most = 8192
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		a, errA := strconv.ParseUint(first, 10, 16)
		b, errB := strconv.ParseUint(last, 10, 16)
		if errA != nil || errB != nil || b < a {
			return 0, false
		}
		n += int(b-a) + 1
	}
	return n, n <= most
}
