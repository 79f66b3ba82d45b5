//go:build clusters

package apiserver

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// clusterIPs are the ranges that the scenario files use. The API server's own, from which it gives its own service an address, is another.
var clusterIPs = [][]string{{"172.30.0.0/16", "fd00:172:30::/108"}, {"fd00:30::/108"}, {"10.96.0.0/12", "fd00:10:96::/108"}}

// refusal is what the API server says of an object of a file.
type refusal struct{ file, reason string }

// refused are the objects of files that no API server takes today. docs/scenarios.md says why a file may have them.
var refused = []refusal{
	{"address-spellings.yaml service default/web", "must not have leading 0s"},
	{"address-spellings.yaml endpointslice default/web-1", "must not have leading 0s"},
	{"none-leading-zeros-octal.yaml service default/web", "must not have leading 0s"},
	{"none-leading-zeros-octal.yaml endpointslice default/web-v4-1", "must not have leading 0s"},
	{"load-balancer-ranges-spelling.yaml service default/web", "must not have bits set beyond the prefix length"},
	{"slice-of-another-family.yaml endpointslice default/web-4", "must be an IPv4 address"},
	{"service-address-changes.yaml service default/web", "may not change once set"},
	{"udp-flow-through-failures.yaml service default/dns", "may not change once set"},
	{"services-swap-addresses.yaml service default/blue", "provided port is already allocated"},
	{"services-swap-addresses.yaml service default/green", "provided port is already allocated"},
	{"services-swap-addresses.yaml service default/green", "may not change once set"},
	// every API server has its own
	{"objects.yaml service default/kubernetes", "may not change once set"},
	{"nftables-servicecidrs.yaml servicecidr kubernetes", "field is immutable"},
	{"none-nft-service-cidrs-wait.yaml servicecidr kubernetes", "field is immutable"},
}

// TestObjectsOfScenarios has a real API server do what the shipped scenario files do with objects. What it stores must be what the loader
// makes of the files, but for what is written here.
func TestObjectsOfScenarios(t *testing.T) {
	e := start(t)
	e.takeClusterIPs(t)
	client, err := dynamic.NewForConfig(e.config(admin, nil))
	require.NoError(t, err)
	files, err := scenarios.Load("../../../scenarios/testdata/cases", "../../../scenarios/testdata/regress")
	require.NoError(t, err)
	p := &player{client: client, refused: map[refusal]bool{}}
	played := map[string]bool{}
	for _, s := range sample.Part(t, files) {
		p.play(t, s)
		played[filepath.Base(s.Pos.File)] = true
	}
	assert.Greater(t, p.stored, 2*len(played))
	for _, r := range refused {
		if file, _, _ := strings.Cut(r.file, " "); !played[file] {
			continue
		}
		assert.True(t, p.refused[r], "%s is not refused any more: %s", r.file, r.reason)
	}
}

// takeClusterIPs has the API server give out addresses of the ranges that the files use.
func (e *environment) takeClusterIPs(t *testing.T) {
	t.Helper()
	client := e.client(t, admin, nil).NetworkingV1().ServiceCIDRs()
	for n, ranges := range clusterIPs {
		_, err := client.Create(t.Context(), &networkingv1.ServiceCIDR{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("scenarios-", n)}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: ranges},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
}

// player plays scenarios' objects.
type player struct {
	client  dynamic.Interface
	made    map[manifest.Ref]bool // by the scenario that is played
	stored  int
	refused map[refusal]bool // of those that are known
}

// play creates, replaces and deletes objects as a scenario does, and deletes what is left.
func (p *player) play(t *testing.T, s *scenarios.Scenario) {
	t.Helper()
	p.made = map[manifest.Ref]bool{}
	p.apply(t, s.Objects)
	for _, step := range s.Steps {
		p.apply(t, step.Apply)
		for _, ref := range step.Delete {
			p.delete(t, ref.Ref)
		}
	}
	for ref := range p.made {
		p.delete(t, ref)
	}
}

func (p *player) apply(t *testing.T, objects []manifest.Object) {
	t.Helper()
	for _, o := range objects {
		stored, err := p.putOnceFree(t.Context(), o)
		if apierrors.IsInvalid(err) {
			p.refuse(t, fmt.Sprintf("%s %s", filepath.Base(o.Pos.File), o.Ref()), err.Error())
			continue
		}
		require.NoError(t, err, "%s %s", o.Pos.File, o.Ref())
		p.stored++
		loaded, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o.Object)
		require.NoError(t, err)
		if _, pod := o.Object.(*corev1.Pod); pod {
			only(stored.Object, loaded)
		}
		forget(loaded, stored.Object)
		assert.Empty(t, cmp.Diff(loaded, stored.Object), "%s %s, as loaded (-) and as stored (+)", o.Pos.File, o.Ref())
	}
}

// givesBack is how long an API server may take to give back the cluster IP of a service that was deleted.
const givesBack = 10 * time.Second

// putOnceFree is put, tried again while a cluster IP is still that of a service that was deleted before.
func (p *player) putOnceFree(ctx context.Context, o manifest.Object) (stored *unstructured.Unstructured, err error) {
	_ = wait.PollUntilContextTimeout(ctx, givesBack/100, givesBack, true, func(ctx context.Context) (done bool, _ error) {
		stored, err = p.put(ctx, o)
		return err == nil || !strings.Contains(err.Error(), "provided IP is already allocated"), nil
	})
	return stored, err
}

// refuse notes a refusal that is known.
func (p *player) refuse(t *testing.T, object, why string) {
	t.Helper()
	known := slices.IndexFunc(refused, func(r refusal) bool { return r.file == object && strings.Contains(why, r.reason) })
	if assert.GreaterOrEqual(t, known, 0, "%s is refused: %s", object, why) {
		p.refused[refused[known]] = true
	}
}

// forget removes from both what no loader can know, and from what is stored what docs/scenarios.md says the loader leaves out.
func forget(loaded, stored map[string]any) {
	for _, o := range []map[string]any{loaded, stored} {
		for _, field := range []string{
			"uid", "creationTimestamp", "managedFields", "resourceVersion", "generation", "deletionTimestamp", "deletionGracePeriodSeconds",
		} {
			unstructured.RemoveNestedField(o, "metadata", field)
		}
		if endpoints, isThere := o["endpoints"]; isThere && endpoints == nil {
			o["endpoints"] = []any{} // both are none
		}
	}
	for _, path := range [][]string{
		{"spec", "ipFamilyPolicy"}, {"spec", "allocateLoadBalancerNodePorts"},
		{"spec", "ipFamilies"},                           // of a service without an address
		{"metadata", "labels", corev1.LabelTopologyZone}, // a pod's, of its node
	} {
		if _, given, _ := unstructured.NestedFieldNoCopy(loaded, path...); !given {
			unstructured.RemoveNestedField(stored, path...)
		}
	}
}

// only leaves in what is stored of a pod what a file may say of it: all that is filled in is for kubelets, and no service looks at it.
func only(stored, loaded map[string]any) {
	for key, value := range stored {
		given, there := loaded[key]
		if !there {
			delete(stored, key)
			continue
		}
		onlyIn(value, given)
	}
}

func onlyIn(stored, loaded any) {
	switch given := loaded.(type) {
	case map[string]any:
		if fields, ok := stored.(map[string]any); ok {
			only(fields, given)
		}
	case []any:
		items, _ := stored.([]any)
		for i := range min(len(items), len(given)) {
			onlyIn(items[i], given[i])
		}
	}
}

// put creates or replaces an object, as somebody wrote it who left out what is filled in.
func (p *player) put(ctx context.Context, o manifest.Object) (*unstructured.Unstructured, error) {
	object, err := written(o)
	if err != nil {
		return nil, err
	}
	ref := o.Ref()
	if err := p.needNamespace(ctx, ref.Namespace); err != nil {
		return nil, err
	}
	status := object.Object["status"]
	var stored *unstructured.Unstructured
	switch current, missing := p.of(ref).Get(ctx, ref.Name, metav1.GetOptions{}); {
	case missing == nil:
		object.SetResourceVersion(current.GetResourceVersion())
		stored, err = p.of(ref).Update(ctx, object, metav1.UpdateOptions{FieldValidation: "Strict"})
	case apierrors.IsNotFound(missing):
		stored, err = p.of(ref).Create(ctx, object, metav1.CreateOptions{FieldValidation: "Strict"})
	default:
		err = missing
	}
	if err != nil {
		return nil, err
	}
	p.made[ref] = true
	if status == nil {
		return stored, nil
	}
	stored.Object["status"] = status
	return p.of(ref).UpdateStatus(ctx, stored, metav1.UpdateOptions{FieldValidation: "Strict"})
}

// written is an object without what the loader filled in, and without what an API server filled in when it was recorded.
func written(o manifest.Object) (*unstructured.Unstructured, error) {
	node, err := o.Plain()
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := yaml.NewEncoder(&text).Encode(node); err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	if err := sigsyaml.Unmarshal(text.Bytes(), &object.Object); err != nil {
		return nil, err
	}
	object.SetNamespace(o.Ref().Namespace)
	object.SetResourceVersion("")
	object.SetUID("")
	for _, field := range []string{"deletionTimestamp", "deletionGracePeriodSeconds"} { // a pod has them once it is deleted
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	if service, ok := o.Object.(*corev1.Service); ok && service.Spec.ClusterIP != "" {
		// The loader takes clusterIPs alone.
		err = unstructured.SetNestedField(object.Object, service.Spec.ClusterIP, "spec", "clusterIP")
	}
	return object, err
}

func (p *player) needNamespace(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	namespace := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name},
	}}
	_, err := p.of(manifest.Ref{Kind: "Namespace"}).Create(ctx, namespace, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// delete deletes an object, if it is there, without waiting for anybody. Namespaces stay: nobody is there who would empty them.
func (p *player) delete(t *testing.T, ref manifest.Ref) {
	t.Helper()
	if ref.Kind == "Namespace" {
		return
	}
	err := p.of(ref).Delete(t.Context(), ref.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
	if !apierrors.IsNotFound(err) {
		require.NoError(t, err, ref)
	}
}

// of is where objects of that kind and namespace are.
func (p *player) of(ref manifest.Ref) dynamic.ResourceInterface {
	resource := schema.GroupVersionResource{Version: "v1", Resource: strings.ToLower(ref.Kind) + "s"}
	switch ref.Kind {
	case "EndpointSlice":
		resource.Group = "discovery.k8s.io"
	case "NetworkPolicy":
		resource.Group, resource.Resource = "networking.k8s.io", "networkpolicies"
	case "ServiceCIDR":
		resource.Group = "networking.k8s.io"
	}
	if ref.Namespace == "" {
		return p.client.Resource(resource)
	}
	return p.client.Resource(resource).Namespace(ref.Namespace)
}
