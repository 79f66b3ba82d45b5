package toolstate

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/sample"
)

// TestKilledWriterLeavesTheOldState kills a writer at random moments. What it then finds must be one whole
// generation: the last that the writer reported, or the one it was about to report. A moment is so many things that
// the writer has done with its file, not a time: a writer on a slow machine would be killed before it comes to write.
func TestKilledWriterLeavesTheOldState(t *testing.T) {
	writer, err := exec.LookPath("writer")
	require.NoError(t, err)
	s := &Store{dir: t.TempDir()}
	random := rand.New(rand.NewPCG(1, 2))
	last, halfWritten := 0, 0
	for range 30 / sample.Every(3) {
		reported := runWriter(t, writer, s.dir, last+1, 1+random.IntN(2*eventsOfAGeneration))
		if _, err := os.Stat(s.dir + "/ipv4-legacy.new"); err == nil {
			halfWritten++
		}
		found := foundGeneration(t, s)
		assert.GreaterOrEqual(t, found, max(last, reported), "a generation that was reported is lost")
		assert.LessOrEqual(t, found, max(last, reported)+1)
		last = found
	}
	assert.Positive(t, last, "the writer never came to write")
	t.Logf("%d generations, killed %d times while a new file was being written", last, halfWritten)
}

// eventsOfAGeneration is what inotify tells of a generation: the old file is opened, read and closed; the new one is
// made, opened, written (its head, then the rest), closed, and moved from its name to that of the old one.
const eventsOfAGeneration = 10

// runWriter runs the writer until so many things have happened to the file of the rules, and returns the last generation
// that it reported, 0 if none.
func runWriter(t *testing.T, writer, dir string, first, events int) int {
	seen := watch(t, dir)
	cmd := exec.Command(writer, strconv.Itoa(first))
	cmd.Env = append(os.Environ(), envState+"="+dir)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Wait()
		assert.NoError(t, seen.Close())
	}()
	awaitEvents(seen, "ipv4-legacy", events)
	// It is too late only for a writer that ended by itself.
	_ = cmd.Process.Kill()
	require.ErrorContains(t, <-ended, "signal: killed", "the writer ended by itself: %s", errOut.String())
	lines := strings.Fields(out.String())
	if len(lines) == 0 {
		return 0
	}
	reported, err := strconv.Atoi(lines[len(lines)-1])
	require.NoError(t, err)
	return reported
}

// watch lets the kernel tell what happens to the files in a folder.
func watch(t *testing.T, dir string) *os.File {
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	require.NoError(t, err)
	_, err = syscall.InotifyAddWatch(fd, dir, syscall.IN_ALL_EVENTS)
	require.NoError(t, err)
	return os.NewFile(uintptr(fd), "inotify")
}

// awaitEvents returns when so many events were of files whose name begins so, or when nobody watches any more.
func awaitEvents(seen *os.File, name string, events int) {
	// The first fields of an event: int wd; uint32_t mask, cookie, len; then a name of len bytes, inotify(7).
	buffer := make([]byte, 4096)
	for events > 0 {
		n, err := seen.Read(buffer)
		if err != nil {
			return
		}
		for rest := buffer[:n]; len(rest) >= syscall.SizeofInotifyEvent; {
			end := syscall.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(rest[12:]))
			if bytes.HasPrefix(rest[syscall.SizeofInotifyEvent:end], []byte(name)) {
				events--
			}
			rest = rest[end:]
		}
	}
}

// foundGeneration is the generation of the stored rules, which must be whole.
func foundGeneration(t *testing.T, s *Store) int {
	rules := must(t, s, "iptables", "-S", "INPUT")
	if !strings.Contains(rules, "generation-") {
		require.Equal(t, "-P INPUT ACCEPT\n", rules)
		return 0
	}
	_, rest, _ := strings.Cut(rules, "generation-")
	number, _, _ := strings.Cut(rest, " ")
	require.Equal(t, crashRules, strings.Count(rules, "generation-"+number+" "), "rules of generation %s", number)
	require.Equal(t, crashRules+1, strings.Count(rules, "\n"))
	n, err := strconv.Atoi(number)
	require.NoError(t, err)
	return n
}
