// Package ram has the test programs that link it make their temporary folders in memory, on a machine that has a place for them there.
//
// The tools that keep their state in a folder wait until the disk has it. A test that runs hundreds of them, each of which is a few files
// of a few lines, has the disk write most of the time.
//
// The package is for tests alone, which import it by the name _. It is not for those that copy programs or other large files. TMPDIR counts
// if it is set.
package ram

import "os"

// place is where Linux has files in memory.
const place = "/dev/shm"

func init() { use(place) }

// use has temporary folders made in a place, if it may be written.
func use(place string) {
	if os.Getenv("TMPDIR") != "" {
		return
	}
	probe, err := os.MkdirTemp(place, "chainwalk")
	if err != nil || os.Remove(probe) != nil {
		return
	}
	_ = os.Setenv("TMPDIR", place)
}
