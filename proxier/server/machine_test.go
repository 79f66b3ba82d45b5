package server_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	kubeproxy "k8s.io/kube-proxy/config/v1alpha1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/exec"
	testingexec "k8s.io/utils/exec/testing"

	"github.com/chainwalk/chainwalk/internal/freeport"
	"github.com/chainwalk/chainwalk/proxier/config/clientset"
	"github.com/chainwalk/chainwalk/proxier/server"
	"github.com/chainwalk/chainwalk/proxier/sysctl"
)

// patience bounds every wait. Nothing waits for its end unless it fails.
const patience = 30 * time.Second

// machine is what a proxy runs on here. It writes down in which order it is used. Its tools say yes to everything, and keep no
// rules.
type machine struct {
	client        *fake.Clientset
	configuration kubeproxy.KubeProxyConfiguration
	clock         *clocktesting.FakeClock
	logger        klog.Logger
	// tools run instead of those that say yes to everything, if they are not nil.
	tools exec.Interface
	// readOnly makes the kernel settings ones that cannot be changed.
	readOnly bool

	lock    sync.Mutex
	journal []string
	// refuse makes a tool end with status 1 if it says why. nil refuses nothing.
	refuse func(argv []string) string

	stop context.CancelFunc
	done chan error
}

// newMachine is a machine whose Node object is there. Its servers listen at free ports of loopback.
func newMachine(t *testing.T) *machine {
	m := &machine{clock: clocktesting.NewFakeClock(time.Unix(1_000_000, 0)), done: make(chan error, 1)}
	m.client = fake.NewClientset(&v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "here"},
		Status:     v1.NodeStatus{Addresses: []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "192.168.0.2"}}},
	})
	m.client.PrependReactor("*", "*", func(action clienttesting.Action) (bool, apiruntime.Object, error) {
		m.note("%s %s", action.GetVerb(), action.GetResource().Resource)
		return false, nil, nil
	})
	m.configuration.ClusterCIDR = "10.244.0.0/16"
	m.configuration.HealthzBindAddress, m.configuration.MetricsBindAddress = freePlace(t), freePlace(t)
	return m
}

func freePlace(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("127.0.0.1:%d", freeport.New(t))
}

// occupy listens at a place until the function is called.
func occupy(t *testing.T, place string) (leave func()) {
	t.Helper()
	listener, err := net.Listen("tcp", place)
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	return func() { require.NoError(t, listener.Close()) }
}

func (m *machine) note(format string, args ...any) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.journal = append(m.journal, fmt.Sprintf(format, args...))
}

func (m *machine) noted() []string {
	m.lock.Lock()
	defer m.lock.Unlock()
	return slices.Clone(m.journal)
}

// count is how often something is in the journal.
func (m *machine) count(entry string) (n int) {
	for _, noted := range m.noted() {
		if noted == entry {
			n++
		}
	}
	return n
}

func (m *machine) await(t *testing.T, what string, ready func() bool) {
	t.Helper()
	require.Eventually(t, ready, patience, time.Millisecond, "%s: %v", what, m.noted())
}

// soon is true if something comes to pass within the time that goroutines take to run on a busy machine.
func (m *machine) soon(ready func() bool) bool {
	for end := time.Now().Add(200 * time.Millisecond); time.Now().Before(end); runtime.Gosched() {
		if ready() {
			return true
		}
	}
	return false
}

// start runs a proxy in the background.
func (m *machine) start(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	m.stop = stop
	go func() {
		m.done <- m.run(ctx)
		close(m.done)
	}()
	t.Cleanup(func() {
		stop()
		for range m.done { // until it has ended
		}
	})
}

func (m *machine) run(ctx context.Context) error {
	var tools exec.Interface = m
	if m.tools != nil {
		tools = m.tools
	}
	return server.Run(ctx, server.Options{Configuration: &m.configuration, API: clientset.API(m.client),
		Events: &events.EventSinkImpl{Interface: m.client.EventsV1()}, Logger: m.logger, Host: server.Host{
			Name: "here", Cores: 2, Exec: tools, Settings: m, Network: m, Clock: m.clock,
			SetOOMScore: func(score int) error { m.note("oom score %d", score); return nil },
		}})
}

// NodeAddresses implements proxier.Network.
func (m *machine) NodeAddresses() ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("192.168.0.2")}, nil
}

// Get and Set implement proxier.Sysctls.
func (m *machine) Get(string) (int, error) { return 0, nil }
func (m *machine) Set(string, int) error   { return nil }

// Apply implements server.Settings.
func (m *machine) Apply(settings []sysctl.Setting) (sysctl.Report, error) {
	m.note("settings")
	if m.readOnly {
		return sysctl.Report{ReadOnly: settings[:1]}, nil
	}
	return sysctl.Report{Changed: settings}, nil
}

// Command implements exec.Interface.
func (m *machine) Command(name string, args ...string) exec.Cmd {
	return m.CommandContext(context.Background(), name, args...)
}

// CommandContext implements exec.Interface.
func (m *machine) CommandContext(_ context.Context, name string, args ...string) exec.Cmd {
	cmd := &testingexec.FakeCmd{RunScript: []testingexec.FakeAction{func() ([]byte, []byte, error) {
		return m.tool(append([]string{name}, args...))
	}}}
	return testingexec.InitFakeCmd(cmd, name, args...)
}

// LookPath implements exec.Interface.
func (m *machine) LookPath(name string) (string, error) { return name, nil }

func (m *machine) tool(argv []string) (stdout, stderr []byte, err error) {
	m.lock.Lock()
	refuse := m.refuse
	m.lock.Unlock()
	if refuse != nil {
		if why := refuse(argv); why != "" {
			return nil, []byte(why), testingexec.FakeExitError{Status: 1}
		}
	}
	if argv[1] == "--version" {
		m.note("%s --version", argv[0])
		return []byte(argv[0] + " v1.8.9 (legacy)\n"), nil, nil
	}
	m.note("%s", argv[0])
	return nil, nil, nil
}

// refusing changes what the tools refuse while they are in use.
func (m *machine) refusing(refuse func(argv []string) string) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.refuse = refuse
}

// ask gets a page; status 0 is that nobody listens.
func ask(t *testing.T, method, url, body string) (status int, answer string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+url, strings.NewReader(body))
	require.NoError(t, err)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}

// awaitSync waits until the proxy has written the rules of a family and is healthy.
func (m *machine) awaitSync(t *testing.T, tool string) {
	t.Helper()
	m.await(t, tool, func() bool {
		status, _ := ask(t, http.MethodGet, m.configuration.HealthzBindAddress+"/healthz", "")
		return status == http.StatusOK && m.count(tool) > 0 && m.count("create events") > 0
	})
}
