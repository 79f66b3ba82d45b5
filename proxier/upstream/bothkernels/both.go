// Package bothkernels runs each call of a tool on two kernels, the real one and the fake one, and records differences of their answers. It
// gives the program the answer of the real one.
package bothkernels

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
	"sync"

	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/internal/toolexec"
)

// Kernels runs nft on both kernels. It is safe for concurrent use: a call waits for those before it.
type Kernels struct {
	real, fake exec.Interface

	mu      sync.Mutex
	calls   int
	differs []string
}

// New returns nft on two kernels that must hold the same: for a start, nothing.
func New(real, fake exec.Interface) *Kernels { return &Kernels{real: real, fake: fake} }

// Exec runs nft on both.
func (k *Kernels) Exec() exec.Interface {
	return &toolexec.Exec{Tools: k, Known: func(name string) bool { return path.Base(name) == "nft" }, Prompt: true}
}

// Calls is how many there were.
func (k *Kernels) Calls() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.calls
}

// Differences are the calls that the kernels have answered differently since they were asked for last, with both answers.
func (k *Kernels) Differences() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	differs := k.differs
	k.differs = nil
	return differs
}

// answer is what a run of a tool gave.
type answer struct {
	status         int
	stdout, stderr string
}

// cannotRun is the status of a tool that could not be run.
const cannotRun = 127

// Run implements toolexec.Tools.
func (k *Kernels) Run(argv []string, stdin io.Reader, stdout, stderr io.Writer) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	var input []byte
	if stdin != nil {
		var err error
		if input, err = io.ReadAll(stdin); err != nil {
			fmt.Fprintf(stderr, "%s: reading standard input: %v\n", argv[0], err)
			return cannotRun
		}
	}
	real, fake := run(k.real, argv, input), run(k.fake, argv, input)
	k.calls++
	if d := difference(real, fake); d != "" {
		k.differs = append(k.differs, fmt.Sprintf("nft %s\n%s%s", strings.Join(argv[1:], " "), shortened(string(input)), d))
	}
	_, errOut := io.WriteString(stdout, real.stdout)
	_, errErr := io.WriteString(stderr, real.stderr)
	if errors.Join(errOut, errErr) != nil {
		return cmp.Or(real.status, cannotRun)
	}
	return real.status
}

func run(programs exec.Interface, argv []string, input []byte) answer {
	var out, said bytes.Buffer
	cmd := programs.Command(path.Base(argv[0]), argv[1:]...)
	cmd.SetStdin(bytes.NewReader(input))
	cmd.SetStdout(&out)
	cmd.SetStderr(&said)
	err := cmd.Run()
	a := answer{stdout: out.String(), stderr: said.String()}
	switch exit := exec.ExitError(nil); {
	case err == nil:
	case errors.As(err, &exit):
		a.status = exit.ExitStatus()
	default:
		a.status, a.stderr = cannotRun, err.Error()
	}
	return a
}

// expires is the rest of an element's life, which goes on between the two runs.
var expires = regexp.MustCompile(`( expires |"expires": )[0-9a-z]+`)

// difference says what the answers differ in; empty if in nothing.
func difference(real, fake answer) string {
	var b strings.Builder
	if real.status != fake.status {
		fmt.Fprintf(&b, "  status: real %d, fake %d\n", real.status, fake.status)
	}
	compare(&b, "stderr", real.stderr, fake.stderr)
	compare(&b, "stdout", expires.ReplaceAllString(real.stdout, "${1}TIME"), expires.ReplaceAllString(fake.stdout, "${1}TIME"))
	return b.String()
}

// compare names the first line that differs.
func compare(b *strings.Builder, what, real, fake string) {
	if real == fake {
		return
	}
	r, f := strings.Split(real, "\n"), strings.Split(fake, "\n")
	for i := range max(len(r), len(f)) {
		if one, other := lineAt(r, i), lineAt(f, i); one != other {
			fmt.Fprintf(b, "  %s, line %d:\n    real %s\n    fake %s\n", what, i+1, one, other)
			return
		}
	}
}

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return shortened(lines[i])
	}
	return "(no line)"
}

// mostShown is how many bytes of a text are shown.
const mostShown = 2000

func shortened(text string) string {
	if len(text) > mostShown {
		return text[:mostShown] + "...\n"
	}
	return text
}
