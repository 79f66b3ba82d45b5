//go:build clusters

package apiserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/chainwalk/chainwalk/internal/freeport"
	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/kindtest/onkind/nodeimage"
	"github.com/chainwalk/chainwalk/proxier/config/apiserver"
)

// patience bounds every wait. Nothing waits for its end unless it fails.
const patience = 5 * time.Minute

// The users that the API server knows, by their tokens.
const (
	admin     = "admin"             // may do everything
	kubeProxy = "system:kube-proxy" // bound to the role of kube-proxy by the API server itself
	nobody    = "nobody"            // may do nothing
)

// environment is etcd and an API server of a test.
type environment struct {
	binaries nodeimage.Binaries
	folder   string
	etcd     *process
	api      *process
	etcdPort int
	apiPort  int
}

// programs finds etcd and the API server, or ends the test.
func programs(t *testing.T) nodeimage.Binaries {
	t.Helper()
	kerneltest.Asked(t, "CHAINWALK_APISERVER", "run against an API server, which make apiserver-test builds")
	cache, err := nodeimage.Cache()
	require.NoError(t, err)
	built, err := nodeimage.BuiltBinaries(t.Context(), "../../..", cache)
	require.NoError(t, err)
	return built
}

// start runs an API server with the cluster IPs that the scenario files use.
func start(t *testing.T) *environment {
	t.Helper()
	e := &environment{binaries: programs(t), folder: t.TempDir(), etcdPort: freeport.New(t), apiPort: freeport.New(t)}
	e.writeFiles(t)
	e.startEtcd(t)
	e.startAPI(t)
	return e
}

// writeFiles writes the users and the key of service accounts.
func (e *environment) writeFiles(t *testing.T) {
	t.Helper()
	users := fmt.Sprintf("%s,%s,1,system:masters\n%s,%s,2\n%s,%s,3\n", token(admin), admin, token(kubeProxy), kubeProxy, token(nobody), nobody)
	require.NoError(t, os.WriteFile(e.file("users.csv"), []byte(users), 0o600))
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	require.NoError(t, os.WriteFile(e.file("accounts.key"), text, 0o600))
}

func token(user string) string { return "token-of-" + strings.ReplaceAll(user, ":", "-") }

func (e *environment) file(name string) string { return filepath.Join(e.folder, name) }

func (e *environment) etcdURL() string { return fmt.Sprintf("http://127.0.0.1:%d", e.etcdPort) }

func (e *environment) startEtcd(t *testing.T) {
	t.Helper()
	peers := fmt.Sprintf("http://127.0.0.1:%d", freeport.New(t))
	e.etcd = e.run(t, "etcd", "--data-dir", e.file("etcd"), "--unsafe-no-fsync", "--log-level", "warn",
		"--listen-client-urls", e.etcdURL(), "--advertise-client-urls", e.etcdURL(),
		"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", "default="+peers)
	e.etcd.await(t, func(ctx context.Context) error { return get(ctx, e.etcdURL()+"/health") })
}

func (e *environment) startAPI(t *testing.T) {
	t.Helper()
	e.api = e.run(t, "kube-apiserver", "--etcd-servers", e.etcdURL(), "--bind-address", "127.0.0.1", "--secure-port", fmt.Sprint(e.apiPort),
		"--cert-dir", e.file("certificates"), "--token-auth-file", e.file("users.csv"), "--authorization-mode", "RBAC",
		"--service-account-issuer", "https://chainwalk", "--service-account-key-file", e.file("accounts.key"),
		"--service-account-signing-key-file", e.file("accounts.key"), "--disable-admission-plugins", "ServiceAccount,TaintNodesByCondition",
		"--service-cluster-ip-range", "10.32.0.0/16,fd00:32::/108", "--service-node-port-range", "1-65535",
		"--endpoint-reconciler-type", "none", "--max-requests-inflight", "3000", "--max-mutating-requests-inflight", "1000")
	client := e.client(t, admin, nil)
	e.api.await(t, func(ctx context.Context) error {
		_, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err
	})
}

// client is that of a user. Its requests go through the gate, if there is one.
func (e *environment) client(t *testing.T, user string, through *gate) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(e.config(user, through))
	require.NoError(t, err)
	return client
}

// proxyClient is that of a user as chainwalk proxy has it.
func (e *environment) proxyClient(t *testing.T, user string, through *gate) *apiserver.Client {
	t.Helper()
	client, err := apiserver.New(e.config(user, through))
	require.NoError(t, err)
	return client
}

// config is how a user reaches the API server.
func (e *environment) config(user string, through *gate) *rest.Config {
	config := &rest.Config{
		Host: fmt.Sprintf("https://127.0.0.1:%d", e.apiPort), BearerToken: token(user), QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true},                // the API server makes its certificate itself
		ContentConfig:   rest.ContentConfig{ContentType: "application/json"}, // a gate reads it
	}
	if through != nil {
		config.Wrap(through.around)
	}
	return config
}

// compact has etcd forget everything but the present.
func (e *environment) compact(t *testing.T) {
	t.Helper()
	var now struct {
		Header struct {
			Revision string `json:"revision"`
		} `json:"header"`
	}
	e.ask(t, "/v3/kv/range", `{"key": "AA=="}`, &now)
	require.NotEmpty(t, now.Header.Revision)
	e.ask(t, "/v3/kv/compaction", fmt.Sprintf(`{"revision": %q, "physical": true}`, now.Header.Revision), &struct{}{})
}

// ask is a request to etcd.
func (e *environment) ask(t *testing.T, path, body string, answer any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.etcdURL()+path, strings.NewReader(body))
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s", text)
	require.NoError(t, json.Unmarshal(text, answer))
}

// process is a program that runs until it is stopped.
type process struct {
	command *exec.Cmd
	said    *bytes.Buffer // to be read once it has ended
	ended   chan struct{}
}

// run starts a program that ends with the test at the latest.
func (e *environment) run(t *testing.T, name string, args ...string) *process {
	t.Helper()
	p := &process{command: exec.Command(e.binaries.Path(name), args...), said: &bytes.Buffer{}, ended: make(chan struct{})}
	p.command.Stdout, p.command.Stderr = p.said, p.said
	require.NoError(t, p.command.Start())
	go func() {
		_ = p.command.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.stop()
		if t.Failed() {
			lines := strings.Split(strings.TrimSpace(p.said.String()), "\n")
			t.Logf("the end of what %s said:\n%s", name, strings.Join(lines[max(0, len(lines)-40):], "\n"))
		}
	})
	return p
}

// stop kills it, as a crash would, and returns when it has ended.
func (p *process) stop() {
	_ = p.command.Process.Kill()
	<-p.ended
}

// await waits until it is ready.
func (p *process) await(t *testing.T, ready func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		err := ready(ctx)
		if err == nil {
			return
		}
		select {
		case <-p.ended:
			t.Fatalf("%s has ended", p.command.Path)
		case <-ctx.Done():
			t.Fatalf("%s is not ready: %v", p.command.Path, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func get(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	return nil
}
