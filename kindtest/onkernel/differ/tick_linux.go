package differ

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// twoTicks is a time in which the kernel's clock goes on twice, if it has 250 ticks a second or more.
const twoTicks = 8 * time.Millisecond

// countsTicks says whether the case has rules that ask in which tick of its clock ("jiffies") the kernel saw what (last_gc and jiffies32 of
// net/netfilter/nf_conncount.c). In the walk each packet comes in a tick of its own.
func (k *labKernel) countsTicks() bool {
	return strings.Contains(k.current.Rules+k.current.OtherRules, " connlimit ") || strings.Contains(k.current.NFT, "ct count ")
}

// awaitTick waits for the beginning of a tick, two after the packet before, if the rules ask for ticks. It returns when that was.
func (k *labKernel) awaitTick() (began time.Duration, err error) {
	if !k.countsTicks() {
		return 0, nil
	}
	time.Sleep(twoTicks)
	before, err := tick()
	for began = before; began == before && err == nil; {
		began, err = tick() // which is over before a sleep would be
	}
	return began, err
}

// watchTick notes whether the clock has gone on since a packet was sent of which there is something to hear now.
func (k *labKernel) watchTick(began time.Duration) error {
	if !k.countsTicks() {
		return nil
	}
	now, err := tick()
	k.crossed = k.crossed || now != began
	return err
}

// tick is when the kernel's clock went on last.
func tick() (time.Duration, error) {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC_COARSE, &at); err != nil {
		return 0, fmt.Errorf("clock: %w", err)
	}
	return time.Duration(at.Nano()), nil
}

// mostTime is how long the packets of a case may take: after more the kernel's timeouts are rounded to others than the walk's, whose clock
// stands still.
const mostTime = 4 * time.Second

func (k *labKernel) disturbed() string {
	switch {
	case k.crossed:
		return "a tick of the kernel's clock passed while a packet was on its way, and the rules count by ticks"
	case time.Since(k.began) > mostTime:
		return "the machine took longer for the packets than timeouts are rounded by"
	}
	return ""
}
