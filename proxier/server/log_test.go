package server_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
)

// journal is what a logger was told, by any goroutine.
type journal struct {
	lock  sync.Mutex
	lines []string
}

func (j *journal) logger() klog.Logger {
	return funcr.New(func(_, line string) {
		j.lock.Lock()
		defer j.lock.Unlock()
		j.lines = append(j.lines, line)
	}, funcr.Options{Verbosity: 4})
}

// Write takes lines of klog.
func (j *journal) Write(line []byte) (int, error) {
	j.lock.Lock()
	defer j.lock.Unlock()
	j.lines = append(j.lines, string(line))
	return len(line), nil
}

func (j *journal) String() string {
	j.lock.Lock()
	defer j.lock.Unlock()
	return strings.Join(j.lines, "\n")
}

// What goes wrong is told to the logger of Run: by the proxiers, by what runs them, and by client-go. The process's own logger is
// told nothing.
func TestRunLogsToItsLogger(t *testing.T) {
	own, global := &journal{}, &journal{}
	// Informers end after Run, and klog's logger may not be set beside them; its output may.
	klog.SetOutput(global)
	klog.LogToStderr(false)
	t.Cleanup(func() { klog.LogToStderr(true) })
	m := newMachine(t)
	m.logger = own.logger()
	failing := true
	m.client.PrependReactor("list", "endpointslices", func(clienttesting.Action) (bool, apiruntime.Object, error) {
		defer func() { failing = false }()
		if failing {
			return true, nil, errors.New("the API is not ready")
		}
		return false, nil, nil
	})
	m.refuse = func(argv []string) string {
		if argv[0] == "iptables-restore" {
			return "iptables-restore: line 1 failed"
		}
		return ""
	}
	service := healthChecked(0)
	service.Spec.ExternalIPs = []string{"192.0.2.300"}
	_, err := m.client.CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{})
	require.NoError(t, err)
	occupy(t, m.configuration.MetricsBindAddress)
	m.start(t)
	for _, line := range []string{
		"the API is not ready", "Skipping address", "has no usable healthCheckNodePort", "Sync failed", "Run failed, will be tried again",
		fmt.Sprintf("serving metrics at %s", m.configuration.MetricsBindAddress),
	} {
		m.await(t, line, func() bool { return strings.Contains(own.String(), line) })
	}
	m.stop()
	require.NoError(t, <-m.done)
	assert.Empty(t, global.String())
}
