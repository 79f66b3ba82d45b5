package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	discovery "k8s.io/api/discovery/v1"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
)

// samples are the costs of the same work, one for each round.
type samples struct {
	seconds   []float64 // CPU time of the process
	allocated []float64 // bytes
	restored  int       // bytes given to iptables-restore
}

// cpuTime is the CPU time that the process has had so far. Unlike time on the clock it does not tell what else the machine does.
func cpuTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}

// measure adds what work costs, done so many times.
func (s *samples) measure(times int, work func(i int) error) error {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := cpuTime()
	for i := range times {
		if err := work(i); err != nil {
			return err
		}
	}
	took := cpuTime() - start
	runtime.ReadMemStats(&after)
	s.seconds = append(s.seconds, took.Seconds()/float64(times))
	s.allocated = append(s.allocated, float64(after.TotalAlloc-before.TotalAlloc)/float64(times))
	return nil
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// String is the medians with the smallest and largest values.
func (s *samples) String() string {
	return fmt.Sprintf("%9.3f ms (%.3f to %.3f)  %8.2f MB allocated  %9d bytes of input", 1e3*median(s.seconds),
		1e3*slices.Min(s.seconds), 1e3*slices.Max(s.seconds), median(s.allocated)/1e6, s.restored)
}

// ratios are the ratios of the rounds: ours to theirs.
func ratios(ours, theirs []float64) []float64 {
	out := make([]float64, len(ours))
	for i := range ours {
		out[i] = ours[i] / theirs[i]
	}
	return out
}

// compare prints both sides and the ratio of their times.
func (b *bench) compare(title string, ours, theirs *samples) {
	r := ratios(ours.seconds, theirs.seconds)
	fmt.Fprintf(b.out, "%s\n  kube-proxy %s\n  ours       %s\n  ratio of the times by round: median %.4f, %.4f to %.4f\n",
		title, theirs, ours, median(r), slices.Min(r), slices.Max(r))
}

// firstSync measures the sync after the start of a process, which finds table nat empty.
func (b *bench) firstSync() error {
	c := newCluster(b.mode, middle)
	var us, them samples
	first := func(s *samples, m maker) error {
		side, err := c.deliver(m, nil)
		if err != nil {
			return err
		}
		err = s.measure(1, func(int) error { return side.Start() })
		s.restored = side.sink.Bytes
		return err
	}
	ours, theirs := makers()
	for range b.rounds {
		if err := errors.Join(first(&them, theirs), first(&us, ours)); err != nil {
			return err
		}
	}
	b.compare(fmt.Sprintf("First full sync, %d services", middle), &us, &them)
	b.goal("time, ratio", median(us.seconds)/median(them.seconds), b.goals.first)
	b.goal("bytes allocated, ratio", median(us.allocated)/median(them.allocated), 0.4)
	return nil
}

// fullSync measures later full syncs, with all chains in the kernel. kube-proxy has kept its buffers then and ours has not, so
// that bytes allocated are shown and not judged: what kept buffers cost is memory at rest.
func (b *bench) fullSync() error {
	ours, theirs, err := newCluster(b.mode, middle).both()
	if err != nil {
		return err
	}
	for _, deleteUnused := range []bool{true, false} {
		var us, them samples
		for range b.rounds {
			if err := errors.Join(
				them.measure(1, func(int) error { return theirs.FullSync(deleteUnused) }),
				us.measure(1, func(int) error { return ours.FullSync(deleteUnused) })); err != nil {
				return err
			}
		}
		us.restored, them.restored = ours.sink.Bytes, theirs.sink.Bytes
		if !deleteUnused {
			b.compare(fmt.Sprintf("Later full sync, %d services; kube-proxy does not look for unused chains, ours does", middle), &us, &them)
			continue
		}
		b.compare(fmt.Sprintf("Later full sync, %d services; both look for unused chains", middle), &us, &them)
		b.goal("time, ratio", median(us.seconds)/median(them.seconds), 0.5)
		if b.mode == cases.NFTables {
			break // which has no larger clusters
		}
	}
	return nil
}

// partialSyncs measures syncs after a change of one slice, in clusters of several sizes.
func (b *bench) partialSyncs() error {
	bySize := map[int]*samples{}
	for _, size := range b.goals.sizes {
		us, them, err := b.partialSync(size)
		if err != nil {
			return err
		}
		bySize[size] = us
		b.compare(fmt.Sprintf("Partial sync after one EndpointSlice has changed, %d services", size), us, them)
		b.goal("time, ratio", median(us.seconds)/median(them.seconds), 0.05)
		b.goal("time of ours, ms", 1e3*median(us.seconds), b.goals.partial)
		b.goal("bytes of input", float64(us.restored), b.goals.input)
	}
	least, most := b.goals.sizes[0], b.goals.sizes[len(b.goals.sizes)-1]
	b.goal(fmt.Sprintf("time of ours at %d services to that at %d", most, least),
		median(bySize[most].seconds)/median(bySize[least].seconds), 1.5)
	return nil
}

// changesEach is how many changes of ours are one round: one alone is too short to be measured. kube-proxy's are few.
const (
	changesOurs   = 200
	changesTheirs = 4 // there and back again
)

func (b *bench) partialSync(size int) (us, them *samples, err error) {
	c := newCluster(b.mode, size)
	ours, theirs, err := c.both()
	if err != nil {
		return nil, nil, err
	}
	us, them = &samples{}, &samples{}
	for range b.rounds {
		if err := errors.Join(them.measure(changesTheirs, change(theirs, c)), us.measure(changesOurs, change(ours, c))); err != nil {
			return nil, nil, err
		}
	}
	us.restored, them.restored = ours.sink.Bytes, theirs.sink.Bytes
	return us, them, nil
}

// change returns work that changes a slice in the middle, there and back, and syncs each time.
func change(s *side, c *cluster) func(int) error {
	at := len(c.slices) / 2
	versions := []*discovery.EndpointSlice{c.slices[at], newSlice(c.services[at].Name, at, endpointsEach-1)}
	current := 0
	return func(int) error {
		before := versions[current]
		current = 1 - current
		s.OnEndpointSliceUpdate(before, versions[current])
		s.sink.Bytes = 0
		if err := s.Sync(); err != nil {
			return err
		}
		if s.sink.Bytes == 0 {
			return fmt.Errorf("%s wrote nothing for a slice that has changed", s.name)
		}
		return nil
	}
}

// memory measures what each proxier holds when it has nothing to do: the objects are the API's and not counted.
func (b *bench) memory() error {
	c := newCluster(b.mode, middle)
	hold := func(m maker) (float64, error) {
		before := heap()
		s, err := c.start(m, nil)
		if err != nil {
			return 0, err
		}
		work := change(s, c)
		for i := range 4 {
			if err := work(i); err != nil {
				return 0, err
			}
		}
		s.sink.Forget()
		held := heap() - before
		runtime.KeepAlive(s)
		return held, nil
	}
	var us, them []float64
	our, their := makers()
	for range 3 {
		theirs, err := hold(their)
		if err != nil {
			return err
		}
		ours, err := hold(our)
		if err != nil {
			return err
		}
		us, them = append(us, ours), append(them, theirs)
	}
	runtime.KeepAlive(c)
	fmt.Fprintf(b.out, "Memory at rest, %d services\n  kube-proxy %6.1f MB (%.1f to %.1f)\n  ours       %6.1f MB (%.1f to %.1f)\n", middle,
		median(them)/1e6, slices.Min(them)/1e6, slices.Max(them)/1e6, median(us)/1e6, slices.Min(us)/1e6, slices.Max(us)/1e6)
	b.goal("memory, ratio", median(us)/median(them), b.goals.memory)
	return nil
}

func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
