package toolstate

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// crashRules is the number of rules of each generation, enough for a write to take a while.
const crashRules = 3000

// generation is restore input whose every rule names the generation.
func generation(n int) string {
	var b strings.Builder
	b.WriteString("*filter\n")
	for i := range crashRules {
		fmt.Fprintf(&b, "-A INPUT -s 10.0.%d.%d/32 -m comment --comment generation-%d -j ACCEPT\n", i/250, i%250, n)
	}
	b.WriteString("COMMIT\n")
	return b.String()
}

// writeForEver is the program that gets killed: it writes one generation after the other and prints the number of
// each that is written.
func writeForEver() {
	store, err := FromEnvironment()
	if err != nil {
		panic(err)
	}
	first, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	for n := first; ; n++ {
		if status := store.Run([]string{"iptables-restore"}, strings.NewReader(generation(n)), os.Stdout, os.Stderr); status != 0 {
			os.Exit(status)
		}
		fmt.Println(n)
	}
}

// TestKilledWriterLeavesTheOldState kills a writer at random moments. What it then finds must be one whole
// generation: the last that the writer reported, or the one it was about to report.
func TestKilledWriterLeavesTheOldState(t *testing.T) {
	writer, err := exec.LookPath("writer")
	require.NoError(t, err)
	s := &Store{dir: t.TempDir()}
	random := rand.New(rand.NewPCG(1, 2))
	last, halfWritten := 0, 0
	for range 30 {
		life := time.Duration(30+random.IntN(120)) * time.Millisecond
		reported := runWriter(t, writer, s.dir, last+1, life)
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

// runWriter runs the writer for some time and returns the last generation that it reported, 0 if none.
func runWriter(t *testing.T, writer, dir string, first int, life time.Duration) int {
	ctx, cancel := context.WithTimeout(context.Background(), life)
	defer cancel()
	cmd := exec.CommandContext(ctx, writer, strconv.Itoa(first))
	cmd.Env = append(os.Environ(), envState+"="+dir)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	require.Error(t, cmd.Run(), "the writer ends only when it is killed")
	require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded, "the writer ended by itself: %s", errOut.String())
	reported := 0
	for lines := bufio.NewScanner(&out); lines.Scan(); {
		n, err := strconv.Atoi(lines.Text())
		require.NoError(t, err)
		reported = n
	}
	return reported
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
