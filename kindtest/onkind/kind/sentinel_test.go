package kind

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/chainwalk/chainwalk/kindtest/probe"
)

func TestSentinelIsMadeAnew(t *testing.T) {
	b, s := scripted(t)
	assert.Equal(t, []netip.Addr{addr("10.96.0.77"), addr("fd00:10:96::77")}, b.sentinel.ips)
	assert.Subset(t, b.facts.TakenIPs, b.sentinel.ips, "no scenario gets them")
	api := s.asked("api ")
	assert.ElementsMatch(t, []string{
		"api delete services chainwalk-sentinel", "api delete endpointslices chainwalk-sentinel-ipv4",
		"api delete endpointslices chainwalk-sentinel-ipv6",
	}, api[:3], "what an earlier run has left")
	assert.Equal(t, []string{
		"api create services chainwalk-sentinel", "api create endpointslices chainwalk-sentinel-ipv4",
		"api create endpointslices chainwalk-sentinel-ipv6",
	}, api[3:])
	assert.Equal(t, []string{"serve outside 2"}, s.asked("serve"))
}

// TestSentinelWaitsForEachNodeAndFamily: an answer counts from each node by each family, and only from the agent outside.
func TestSentinelWaitsForEachNodeAndFamily(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := scripted(t)
		var mu sync.Mutex
		dials := map[string]int{}
		s.dial = func(machine, _ string, d probe.Dial) probe.Result {
			mu.Lock()
			defer mu.Unlock()
			key := fmt.Sprintf("%s %s", machine, d.To)
			dials[key]++
			switch dials[key] {
			case 1:
				return probe.Result{End: probe.Refused, With: "icmp-port-unreachable"}
			case 2:
				return probe.Result{End: probe.Answered, Server: "worker-1"} // somebody else's
			}
			return probe.Result{End: probe.Answered, Server: "outside"}
		}
		for number := 1; number <= 2; number++ {
			s.forgetLog()
			clear(dials)
			began := time.Now()
			require.NoError(t, b.sentinel.wait(t.Context(), b.nodeNames()))
			assert.Equal(t, 2*lookAgain, time.Since(began))
			want := map[string]int{}
			for _, node := range []string{"worker", "worker2", "control-plane"} {
				want[fmt.Sprintf("%s 10.96.0.77:%d", node, firstPort+number)] = 3
				want[fmt.Sprintf("%s [fd00:10:96::77]:%d", node, firstPort+number)] = 3
			}
			assert.Equal(t, want, dials, "the port is another one each time")
			asked := s.asked("api update", "api patch", "dial")
			assert.Len(t, slices.DeleteFunc(slices.Clone(asked[:3]), func(line string) bool { return line[:3] != "api" }),
				3, "nobody asks before all is written")
			service, err := s.api.CoreV1().Services(sentinelNamespace).Get(t.Context(), sentinelName, metav1.GetOptions{})
			require.NoError(t, err)
			assert.Equal(t, int32(firstPort+number), service.Spec.Ports[0].Port)
		}
	})
}

// TestSentinelGivesUp on a node that never reaches it by one family.
func TestSentinelGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := scripted(t)
		s.dial = func(machine, _ string, d probe.Dial) probe.Result {
			if machine == "worker2" && d.To.Addr().Is6() {
				return probe.Result{End: probe.Silent}
			}
			return probe.Result{End: probe.Answered, Server: "outside"}
		}
		began := time.Now()
		err := b.sentinel.wait(t.Context(), b.nodeNames())
		assert.Equal(t, patience, time.Since(began))
		assert.ErrorContains(t, err, "worker2: the proxy has not written in 1m0s what it was told: silent to the sentinel [fd00:10:96::77]:10001")
		assert.NotContains(t, err.Error(), "worker:", "others have")
		assert.NotContains(t, err.Error(), "10.96.0.77")
	})
}

// TestSentinelEndsWithItsContext, and says what agents say.
func TestSentinelEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := scripted(t)
		interrupted := errors.New("interrupted")
		ctx, cancel := context.WithCancelCause(t.Context())
		s.refuse = func(asked string) error {
			if len(asked) > 4 && asked[:4] == "dial" {
				cancel(interrupted)
				return errors.New("the relay has ended")
			}
			return nil
		}
		began := time.Now()
		err := b.sentinel.wait(ctx, b.nodeNames())
		assert.Zero(t, time.Since(began))
		assert.ErrorIs(t, err, interrupted)
		assert.ErrorContains(t, err, "the relay has ended")
		assert.NotContains(t, err.Error(), "has not written")
	})
}
