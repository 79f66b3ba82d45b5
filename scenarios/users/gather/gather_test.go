package gather

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

func TestGatherReadsObjectsAndNodesAndLeavesNothing(t *testing.T) {
	s := newServer(t, "node1", "node2")
	s.lists["services"] = []any{corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}}
	s.lists["configmaps"] = []any{corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-proxy"},
		Data: map[string]string{"config.conf": "mode: iptables", "kubeconfig.conf": "a token"}}}
	g, plan := s.gatherer(), ""
	g.Confirm = func(_ context.Context, text string) error { plan = text; return nil }
	got, err := g.Gather(t.Context())
	require.NoError(t, err)
	assert.Empty(t, s.left())
	assert.Empty(t, got.Notes)
	require.Len(t, got.Snapshots(), 2)
	assert.Equal(t, "node2", got.Snapshots()[1].Hostname)
	assert.Empty(t, got.Silent())
	assert.Len(t, manifest.Of[*corev1.Service](got.Objects), 1)
	assert.Equal(t, map[string]string{"config.conf": "mode: iptables"}, manifest.Of[*corev1.ConfigMap](got.Objects)[0].Data)
	for _, words := range []string{"2: node1, node2", "namespace tools", g.Image, "NET_ADMIN, NET_RAW, SYS_CHROOT", "read-only",
		"kubectl delete pods -n tools -l chainwalk.dev/run=abc"} {
		assert.Contains(t, plan, words)
	}
}

// TestThePodHasTheLeastRights names all that the pod may.
func TestThePodHasTheLeastRights(t *testing.T) {
	s := newServer(t, "node1")
	g := s.gatherer()
	g.PullSecret = "registry"
	_, err := g.Gather(t.Context())
	require.NoError(t, err)
	spec := s.made[0].Spec
	assert.Equal(t, "node1", spec.NodeName)
	assert.True(t, spec.HostNetwork)
	assert.False(t, spec.HostPID || spec.HostIPC)
	assert.False(t, *spec.AutomountServiceAccountToken)
	assert.Equal(t, []corev1.Toleration{{Operator: corev1.TolerationOpExists}}, spec.Tolerations)
	assert.Equal(t, int64(40), *spec.ActiveDeadlineSeconds)
	assert.Equal(t, []corev1.LocalObjectReference{{Name: "registry"}}, spec.ImagePullSecrets)
	require.Len(t, spec.Containers, 1)
	c := spec.Containers[0]
	assert.False(t, *c.SecurityContext.Privileged || *c.SecurityContext.AllowPrivilegeEscalation)
	assert.True(t, *c.SecurityContext.ReadOnlyRootFilesystem)
	assert.Equal(t, &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}, Add: []corev1.Capability{"NET_ADMIN", "NET_RAW", "SYS_CHROOT"}},
		c.SecurityContext.Capabilities)
	require.Len(t, c.VolumeMounts, 1)
	assert.True(t, c.VolumeMounts[0].ReadOnly)
	assert.Equal(t, corev1.RecursiveReadOnlyIfPossible, *c.VolumeMounts[0].RecursiveReadOnly)
	assert.Contains(t, c.Resources.Limits, corev1.ResourceMemory)
	assert.Contains(t, c.Resources.Limits, corev1.ResourceCPU)
	assert.Equal(t, map[string]string{labelName: nameValue, labelRun: "abc"}, s.made[0].Labels)
}

func TestNothingIsMadeThatIsNotConfirmed(t *testing.T) {
	s := newServer(t, "node1")
	g := s.gatherer()
	g.Confirm = func(context.Context, string) error { return errRefused }
	_, err := g.Gather(t.Context())
	require.ErrorIs(t, err, errRefused)
	assert.Empty(t, s.made)
}

func TestNodesAreChosen(t *testing.T) {
	for _, row := range []struct {
		name  string
		set   func(*Gatherer)
		asked []string
		wrong string
	}{
		{"all", func(*Gatherer) {}, []string{"node1", "node2", "node3"}, ""},
		{"by name", func(g *Gatherer) { g.Nodes = []string{"node3", "node1"} }, []string{"node1", "node3"}, ""},
		{"by label", func(g *Gatherer) { g.Selector = labels.SelectorFromSet(labels.Set{"name": "node2"}) }, []string{"node2"}, ""},
		{"a name that is none", func(g *Gatherer) { g.Nodes = []string{"node4"} }, nil, "no such node, but node1, node2, node3"},
		{"a label that nobody has", func(g *Gatherer) { g.Selector = labels.SelectorFromSet(labels.Set{"name": "x"}) }, nil, "no node is chosen"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newServer(t, "node1", "node2", "node3")
			g := s.gatherer()
			row.set(g)
			got, err := g.Gather(t.Context())
			if row.wrong != "" {
				require.ErrorContains(t, err, row.wrong)
				assert.Empty(t, s.made)
				return
			}
			require.NoError(t, err)
			var asked []string
			for _, n := range got.Nodes {
				asked = append(asked, n.Name)
			}
			assert.Equal(t, row.asked, asked)
		})
	}
}

// TestANodeThatGivesNoSnapshot says why, asks the other one all the same, and leaves nothing.
func TestANodeThatGivesNoSnapshot(t *testing.T) {
	ended := func(reason string, code int32) corev1.PodStatus {
		return corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{
			{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: reason, ExitCode: code}}}}}
	}
	cut := func(s *server, pod *corev1.Pod) string {
		whole := s.parcelOf(pod, "node1")
		return whole[:strings.LastIndex(strings.TrimSpace(whole), "\n")]
	}
	for _, row := range []struct {
		name   string
		status corev1.PodStatus
		prints func(*server, *corev1.Pod) string
		says   []string
	}{
		{"the image cannot be pulled", waitingFor("ImagePullBackOff", "not found"), nil,
			[]string{"registry.example/collect:1", "--image", "not found"}},
		{"the container cannot be made", waitingFor("CreateContainerError", "no such device"), nil, []string{"no such device"}},
		{"the kubelet never starts it", corev1.PodStatus{Phase: corev1.PodPending}, nil,
			[]string{"did not answer within 5s", "kubelet does not start"}},
		{"it waits for its image too long", waitingFor("ContainerCreating", ""), nil, []string{"did not answer within 5s: ContainerCreating"}},
		{"the kubelet takes no more pods", corev1.PodStatus{Phase: corev1.PodFailed, Reason: "OutOfpods", Message: "too many"}, nil,
			[]string{"the node did not take the pod: OutOfpods too many"}},
		{"the log is cut", running(), cut, []string{"the log is not whole", "line 1 of 1"}},
		{"the log has another's output", running(), func(s *server, pod *corev1.Pod) string {
			other := *pod
			other.Name = "other"
			return s.parcelOf(&other, "node1") + s.parcelOf(pod, "node1")
		}, []string{"more than one program"}},
		{"the collector fails", ended("Error", 2), func(*server, *corev1.Pod) string { return "chainwalk-collect: --root /host: denied\n" },
			[]string{"ended with status 2", "no snapshot", "it said: chainwalk-collect: --root /host: denied"}},
		{"the collector needs too much memory", ended("OOMKilled", 137), cut, []string{"more than 1Gi of memory"}},
		{"it says that it is another node", running(), func(s *server, pod *corev1.Pod) string { return s.parcelOf(pod, "node7") },
			[]string{"its snapshot is of node7"}},
		{"it prints what is no snapshot", running(), func(s *server, pod *corev1.Pod) string {
			return s.parcelOf(pod, "node1\nshape: round")
		}, []string{"cannot be read", "shape"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newServer(t, "node1", "node2")
			s.status = func(pod *corev1.Pod, _ int) corev1.PodStatus {
				if pod.Spec.NodeName == "node1" {
					return row.status
				}
				return running()
			}
			s.prints = func(pod *corev1.Pod) string {
				if pod.Spec.NodeName == "node1" && row.prints != nil {
					return row.prints(s, pod)
				}
				return s.parcelOf(pod, pod.Spec.NodeName)
			}
			got, err := s.gatherer().Gather(t.Context())
			require.NoError(t, err)
			require.Len(t, got.Snapshots(), 1)
			for _, says := range row.says {
				assert.Contains(t, got.Silent()["node1"], says)
			}
			assert.Len(t, s.made, 2)
			assert.Empty(t, s.left())
		})
	}
}

func TestNodesThatCannotAnswerAreNotAsked(t *testing.T) {
	s := newServer(t, "node1")
	silent := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node2"}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Reason: "NodeStatusUnknown"}}}}
	windows := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node3", Labels: map[string]string{corev1.LabelOSStable: "windows"}}}
	notReady := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node4"}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady", Message: "cni plugin not initialized"}}}}
	s.lists["nodes"] = append(s.lists["nodes"], silent, windows, notReady)
	got, err := s.gatherer().Gather(t.Context())
	require.NoError(t, err)
	assert.Len(t, s.made, 2)
	assert.Contains(t, got.Silent()["node2"], "silent")
	assert.Contains(t, got.Silent()["node3"], "windows")
	assert.NotContains(t, got.Silent(), "node4", "a node whose network plugin is broken is the one to look at")
}

func TestALogThatCameInPiecesIsReadAgain(t *testing.T) {
	s := newServer(t, "node1")
	readings := 0
	s.prints = func(pod *corev1.Pod) string {
		whole := s.parcelOf(pod, "node1")
		if readings++; readings == 1 {
			return whole[:len(whole)/2]
		}
		return "words of the runtime\n" + whole
	}
	got, err := s.gatherer().Gather(t.Context())
	require.NoError(t, err)
	assert.Len(t, got.Snapshots(), 1)
	assert.Equal(t, 2, readings)
}

// TestEachMissingRight takes each right away in turn. What is needed stops it before anything is made, with the rule that grants it.
func TestEachMissingRight(t *testing.T) {
	for _, right := range Rights("tools") {
		t.Run(right.String(), func(t *testing.T) {
			s := newServer(t, "node1")
			s.denied[right.String()] = true
			got, err := s.gatherer().Gather(t.Context())
			rule := fmt.Sprintf("- {apiGroups: [%q], resources: [%s]", right.Group, right.Resource)
			marked := regexp.MustCompile(regexp.QuoteMeta(rule) + `.*verbs: .*\b` + right.Verb + `\b.*# missing`)
			if right.Without != "" {
				require.NoError(t, err)
				require.Len(t, got.Notes, 1)
				assert.Contains(t, got.Notes[0], right.String())
				assert.Contains(t, got.Notes[0], right.Without)
				assert.Regexp(t, marked, got.Grant)
				return
			}
			var missing *MissingError
			require.ErrorAs(t, err, &missing)
			assert.Equal(t, []Right{right}, missing.Rights)
			assert.Regexp(t, marked, err.Error())
			assert.Equal(t, 1, strings.Count(err.Error(), "# missing"))
			assert.Empty(t, s.made, "nothing is made that could not be read or removed")
		})
	}
}

// TestARightThatIsMissingAfterAll has a server that takes a right away meanwhile, and one that does not say what it allows.
func TestARightThatIsMissingAfterAll(t *testing.T) {
	for _, right := range []string{"list services in all namespaces", "get pods in namespace tools", "get pods/log in namespace tools"} {
		t.Run(right, func(t *testing.T) {
			s := newServer(t, "node1")
			g := s.gatherer()
			g.Confirm = func(context.Context, string) error {
				s.denied[right] = true
				return nil
			}
			if strings.HasPrefix(right, "list") {
				s.denied["create selfsubjectaccessreviews.authorization.k8s.io in all namespaces"] = true
				s.denied[right] = true
			}
			_, err := g.Gather(t.Context())
			require.ErrorContains(t, err, right)
			assert.Empty(t, s.left())
		})
	}
}

func TestAdmissionIsToldFromRights(t *testing.T) {
	for _, row := range []struct{ refusal, says string }{
		{`pods "x" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)`,
			"kubectl label namespace tools pod-security.kubernetes.io/enforce=privileged"},
		{`pods "x" is forbidden: exceeded quota: few, requested: pods=1`, "the quota of namespace tools"},
		{`admission webhook "validate.kyverno.svc" denied the request`, "a policy of the cluster"},
	} {
		s := newServer(t, "node1", "node2", "node3")
		s.admits = func(*corev1.Pod) string { return row.refusal }
		_, err := s.gatherer().Gather(t.Context())
		require.ErrorContains(t, err, row.says)
		assert.ErrorContains(t, err, row.refusal)
		assert.ErrorContains(t, err, "--pod-namespace")
		assert.NotContains(t, err.Error(), "kind: Role")
		assert.Empty(t, s.left())
	}
}

// TestAnInterruptLeavesNothing ends the gathering at each moment of a pod's life.
func TestAnInterruptLeavesNothing(t *testing.T) {
	for _, at := range []string{"as the first pod is made", "while they start", "while they print"} {
		t.Run(at, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s := newServer(t, "node1", "node2", "node3")
			s.stays = 3
			switch at {
			case "as the first pod is made":
				s.onCreate = cancel
			case "while they start":
				s.status = func(_ *corev1.Pod, look int) corev1.PodStatus {
					if look == 2 {
						cancel()
					}
					return waitingFor("ContainerCreating", "")
				}
			case "while they print":
				s.prints = func(*corev1.Pod) string {
					cancel()
					return "words"
				}
			}
			_, err := s.gatherer().Gather(ctx)
			require.ErrorIs(t, err, ErrInterrupted)
			assert.NotEmpty(t, s.made)
			assert.Empty(t, s.left())
		})
	}
}

func TestAPodThatItsNodeDoesNotLetGoIsRemovedByForce(t *testing.T) {
	s := newServer(t, "node1")
	s.stays = 1000
	_, err := s.gatherer().Gather(t.Context())
	require.NoError(t, err)
	assert.Empty(t, s.left())
	assert.Equal(t, []string{"chainwalk-collect-abc-1"}, s.forced)
}

func TestAPodThatCannotBeRemovedIsSaid(t *testing.T) {
	s := newServer(t, "node1")
	g := s.gatherer()
	var said []string
	g.Say = func(line string) { said = append(said, line) }
	g.Confirm = func(context.Context, string) error {
		s.denied["delete pods in namespace tools"] = true
		return nil
	}
	_, err := g.Gather(t.Context())
	require.NoError(t, err)
	assert.Contains(t, strings.Join(said, "\n"), "remove it with: kubectl delete pods -n tools -l chainwalk.dev/run=abc")
}

func TestCleanRemovesWhatIsLeft(t *testing.T) {
	s := newServer(t, "node1")
	for _, name := range []string{"left1", "left2"} {
		s.pods[name] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	removed, err := s.gatherer().Clean(t.Context(), "")
	require.NoError(t, err)
	assert.Equal(t, []string{"left1", "left2"}, removed)
	assert.Empty(t, s.left())

	s.denied["list pods in namespace tools"] = true
	_, err = s.gatherer().Clean(t.Context(), "")
	assert.ErrorContains(t, err, "resources: [pods], verbs: [create, get, delete, list]}  # missing")
}

// TestBigListsComeByPages reads more objects than a page has, and goes on where the server has forgotten the list in the meantime.
func TestBigListsComeByPages(t *testing.T) {
	for _, expired := range []bool{false, true} {
		s := newServer(t, "node1")
		for i := range 3*pageSize + 7 {
			s.lists["services"] = append(s.lists["services"],
				corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("web%d", i)}})
		}
		s.expired = expired
		got, err := s.gatherer().Gather(t.Context())
		require.NoError(t, err)
		assert.Len(t, manifest.Of[*corev1.Service](got.Objects), 3*pageSize+7)
		assert.Contains(t, s.limits, "500")
	}
}

func TestNothingPrivateIsKept(t *testing.T) {
	s := newServer(t, "node1")
	s.lists["pods"] = []any{corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: map[string]string{
			corev1.LastAppliedConfigAnnotation: "secret1", "kept": "kept"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: metav1.NewFieldsV1(`{"f:secret2":{}}`)}}},
		Spec: corev1.PodSpec{NodeName: "node1",
			Volumes: []corev1.Volume{{Name: "secret3"}},
			Containers: []corev1.Container{{Name: "c", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 80}},
				Env: []corev1.EnvVar{{Name: "PASSWORD", Value: "secret4"}}, Args: []string{"--token=secret5"}}}},
		Status: corev1.PodStatus{PodIP: "10.0.0.1"},
	}}
	got, err := s.gatherer().Gather(t.Context())
	require.NoError(t, err)
	folder := filepath.Join(t.TempDir(), "kept")
	require.NoError(t, got.Save(folder, time.Unix(0, 0)))
	text, err := os.ReadFile(filepath.Join(folder, "objects.yaml"))
	require.NoError(t, err)
	assert.NotContains(t, string(text), "secret")
	for _, kept := range []string{"kept: kept", "containerPort: 80", "podIP: 10.0.0.1", "manager: m"} {
		assert.Contains(t, string(text), kept)
	}
}

// TestTheShippedAccountHasTheRights holds that the page's manifest has the roles that are asked for, and no other right.
func TestTheShippedAccountHasTheRights(t *testing.T) {
	shipped, err := os.ReadFile("../../../docs/gather.yaml")
	require.NoError(t, err)
	var roles []string
	for _, document := range strings.Split(string(shipped), "---\n") {
		if strings.Contains(document, "\nrules:") {
			roles = append(roles, document)
		}
	}
	printed := regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(RolesYAML(Rights("chainwalk")), "")
	assert.Equal(t, printed, strings.Join(roles, "---\n"))
}
