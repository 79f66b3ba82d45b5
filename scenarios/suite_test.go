package scenarios

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"
)

// suiteStart is when the suites of tests begin.
var suiteStart = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// staged is a backend whose clusters start when a test lets them.
type staged struct {
	started chan string
	start   map[string]chan struct{} // by the name of the first node
	clock   *clocktesting.FakeClock
	canned
}

func (s *staged) Start(ctx context.Context, c *Cluster) (Session, error) {
	name := c.Nodes[0].Name
	if s.started != nil {
		s.started <- name
	}
	if gate := s.start[name]; gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if s.clock != nil {
		s.clock.Step(1500 * time.Millisecond)
	}
	return &canned{cluster: c}, nil
}

// suiteFile is a scenario with a node of its name, which fails if it is expected to be rejected by port 86.
func suiteFile(t *testing.T, name string, port int) File {
	t.Helper()
	s, err := Read(name+".yaml", strings.NewReader(fmt.Sprintf("name: %s\niptables: {tools: [legacy]}\ntopology: {nodes: [{name: %s}]}\n"+
		"steps: [{connect: {from: %s, to: 'tcp 172.30.0.1:%d', expect: reject}}]\n", name, name, name, port)))
	require.NoError(t, err)
	return File{Path: name + ".yaml", Scenario: s}
}

func namesOf(results []*Result) (names []string) {
	for _, r := range results {
		names = append(names, r.Name)
	}
	return names
}

func TestSuiteReportsInTheOrderOfTheFiles(t *testing.T) {
	b := &staged{started: make(chan string, 3), start: map[string]chan struct{}{"a": make(chan struct{})}}
	var lock sync.Mutex
	var told, begun []string
	bDone := make(chan struct{})
	suite := Suite{Backend: b, Clock: clocktesting.NewFakeClock(suiteStart), Parallel: 2,
		Begin: func(f *File) {
			if begun = append(begun, f.Path); f.Path == "c.yaml" {
				close(bDone) // b is done: who runs c is who ran b
			}
		},
		Done: func(r *Result) {
			lock.Lock()
			defer lock.Unlock()
			told = append(told, r.Name)
		},
	}
	go func() {
		<-bDone
		lock.Lock()
		defer lock.Unlock()
		assert.Empty(t, told, "a comes first")
		close(b.start["a"])
	}()
	results := suite.Run(t.Context(), []File{suiteFile(t, "a", 81), suiteFile(t, "b", 81), suiteFile(t, "c", 81)})
	assert.Equal(t, []string{"a", "b", "c"}, told)
	assert.Equal(t, []string{"a", "b", "c"}, namesOf(results))
	assert.Equal(t, []string{"a.yaml", "b.yaml", "c.yaml"}, begun)
}

func TestSuiteTimesRuns(t *testing.T) {
	clock := clocktesting.NewFakeClock(suiteStart)
	suite := Suite{Backend: &staged{clock: clock}, Clock: clock}
	broken := File{Path: "broken.yaml", Err: errors.New("no YAML")}
	results := suite.Run(t.Context(), []File{suiteFile(t, "a", 86), broken})
	require.Len(t, results, 2)
	assert.Equal(t, suiteStart, results[0].Started)
	assert.Equal(t, 1500*time.Millisecond, results[0].Duration)
	assert.Equal(t, 1500*time.Millisecond, results[0].Checks[0].Duration)
	assert.True(t, results[1].Unread)
	assert.True(t, results[1].Failed())

	var out strings.Builder
	require.NoError(t, WriteJSON(&out, results, WaysNone))
	assert.Contains(t, out.String(), `"seconds": 1.5`)
	out.Reset()
	require.NoError(t, WriteJUnit(&out, results))
	checkJUnit(t, out.String())
	assert.Contains(t, out.String(), `<testsuites tests="2" failures="1" errors="1" time="1.500">`)
	assert.Contains(t, out.String(), `timestamp="2026-01-02T03:04:05"`)
	assert.Contains(t, out.String(), `<testcase name="read the scenario" classname="broken" file="broken.yaml" time="0.000">`)
	assert.Contains(t, out.String(), `<error message="no YAML">`)
	out.Reset()
	require.NoError(t, WriteText(&out, results, WaysNone))
	assert.Contains(t, out.String(), "FAIL  broken.yaml could not be read: no YAML\n")
}

func TestSuiteEndsAScenarioThatTakesTooLong(t *testing.T) {
	clock := clocktesting.NewFakeClock(suiteStart)
	b := &staged{started: make(chan string, 2), start: map[string]chan struct{}{"slow": make(chan struct{})}}
	suite := Suite{Backend: b, Clock: clock, Timeout: time.Minute, Begin: func(f *File) {
		if f.Path == "slow.yaml" {
			go func() {
				<-b.started
				clock.Step(time.Minute)
			}()
		}
	}}
	results := suite.Run(t.Context(), []File{suiteFile(t, "slow", 81), suiteFile(t, "quick", 81)})
	require.Len(t, results, 2)
	require.Len(t, results[0].Checks, 1)
	assert.Equal(t, "start the cluster", results[0].Checks[0].Name)
	assert.Equal(t, "stopped: it has taken 1m0s, which is as long as one scenario may take; no step was made", results[0].Checks[0].Wrong)
	assert.False(t, results[1].Failed(), "it has a minute of its own")
}

func TestSuiteEndsWithTheFirstFailure(t *testing.T) {
	for _, parallel := range []int{1, 2, 4} {
		var told atomic.Int32
		suite := Suite{Backend: &staged{}, Clock: clocktesting.NewFakeClock(suiteStart), Parallel: parallel, FailFast: true,
			Done: func(*Result) { told.Add(1) }}
		results := suite.Run(t.Context(), []File{suiteFile(t, "a", 81), suiteFile(t, "b", 86), suiteFile(t, "c", 86), suiteFile(t, "d", 81)})
		assert.Equal(t, []string{"a", "b"}, namesOf(results))
		assert.EqualValues(t, 2, told.Load())
	}
}

func TestSuiteThatIsInterruptedTellsWhatIsDone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := &staged{started: make(chan string, 3), start: map[string]chan struct{}{"b": make(chan struct{})}}
	var told []string
	suite := Suite{Backend: b, Clock: clocktesting.NewFakeClock(suiteStart), Done: func(r *Result) {
		if told = append(told, r.Name); r.Name == "a" {
			go func() {
				for <-b.started != "b" {
				}
				cancel()
			}()
		}
	}}
	results := suite.Run(ctx, []File{suiteFile(t, "a", 81), suiteFile(t, "b", 81), suiteFile(t, "c", 81)})
	assert.Equal(t, []string{"a"}, namesOf(results), "b was cut short")
	assert.Equal(t, []string{"a"}, told)
}
