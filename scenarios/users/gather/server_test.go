package gather

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/chainwalk/chainwalk/packetsim/snapshot/parcel"
)

// server is as much of an API server as gathering meets: lists by pages, reviews of access, and pods that print.
type server struct {
	t     *testing.T
	mutex sync.Mutex
	// lists are the items of lists by the end of their paths.
	lists map[string][]any
	// denied are rights that are not there, by what Right.String says.
	denied map[string]bool
	// admits refuses pods; nil admits all.
	admits func(*corev1.Pod) string
	// prints is the log of a pod, status what its state is at the n-th look, stays how many looks it stays after it was removed.
	prints func(*corev1.Pod) string
	status func(pod *corev1.Pod, look int) corev1.PodStatus
	stays  int
	// onCreate is told of each pod that was made.
	onCreate func()

	pods    map[string]*corev1.Pod
	looks   map[string]int
	gone    map[string]int // looks since it was removed, of pods that stay
	made    []*corev1.Pod
	forced  []string
	limits  []string // of lists
	expired bool     // the next page of the next list is not there any more
}

func newServer(t *testing.T, nodes ...string) *server {
	s := &server{t: t, lists: map[string][]any{}, denied: map[string]bool{}, pods: map[string]*corev1.Pod{}, looks: map[string]int{},
		gone: map[string]int{}}
	for _, name := range nodes {
		s.lists["nodes"] = append(s.lists["nodes"],
			corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}}})
	}
	s.status = func(*corev1.Pod, int) corev1.PodStatus { return running() }
	s.prints = func(pod *corev1.Pod) string { return s.parcelOf(pod, pod.Spec.NodeName) }
	return s
}

func running() corev1.PodStatus {
	return corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
		{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}}
}

func waitingFor(reason, message string) corev1.PodStatus {
	return corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{
		{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}}}
}

// parcelOf is what the collector in a pod prints: a small snapshot of a node.
func (s *server) parcelOf(pod *corev1.Pod, node string) string {
	text, err := parcel.Pack(pod.Name, []byte("version: 1\nhostname: "+node+"\ndevices:\n- {name: lo, up: true}\n"))
	require.NoError(s.t, err)
	return string(text)
}

// gatherer is one for the server, whose nodes answer without anybody waiting.
func (s *server) gatherer() *Gatherer {
	http := httptest.NewServer(s)
	s.t.Cleanup(http.Close)
	api, err := NewAPI(&rest.Config{Host: http.URL, QPS: -1})
	require.NoError(s.t, err)
	return &Gatherer{API: api, Namespace: "tools", Image: "registry.example/collect:1", Run: "abc", NodeTime: 5 * time.Second,
		Confirm: func(context.Context, string) error { return nil },
		Say:     func(line string) { s.t.Log(line) },
		Pause:   func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}
}

func (s *server) left() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var out []string
	for name := range s.pods {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	w.Header().Set("Content-Type", "application/json")
	right, name := rightOf(r)
	if right.Resource == "selfsubjectaccessreviews" {
		s.review(w, r)
		return
	}
	if s.denied[right.String()] {
		refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden,
			fmt.Sprintf("%s is forbidden: User \"u\" cannot %s resource %q", right.Resource, right.Verb, right.Resource))
		return
	}
	switch {
	case right.Resource == "pods/log":
		_, _ = fmt.Fprint(w, s.prints(s.pods[name]))
	case right.Namespace != "" && right.Resource == "pods":
		s.servePod(w, r, right.Verb, name)
	case right.Resource == "configmaps":
		s.serveConfig(w, name)
	default:
		s.serveList(w, r, right.Resource)
	}
}

// rightOf is the right that a request takes, and the name of its object.
func rightOf(r *http.Request) (Right, string) {
	words := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	out := Right{Verb: map[string]string{http.MethodGet: "get", http.MethodPost: "create", http.MethodDelete: "delete"}[r.Method]}
	if words[0] == "api" {
		words = words[2:]
	} else {
		out.Group, words = words[1], words[3:]
	}
	if words[0] == "namespaces" && len(words) > 2 {
		out.Namespace, words = words[1], words[2:]
	}
	out.Resource = words[0]
	name := ""
	if len(words) > 1 {
		name = words[1]
	}
	if len(words) > 2 {
		out.Resource += "/" + words[2]
	}
	if r.Method == http.MethodGet && name == "" {
		out.Verb = "list"
	}
	if out.Resource == "configmaps" {
		out.Name = name
	}
	return out, name
}

func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure",
		Code: int32(code), Reason: reason, Message: message})
}

func (s *server) review(w http.ResponseWriter, r *http.Request) {
	var review authorizationv1.SelfSubjectAccessReview
	assert.NoError(s.t, json.NewDecoder(r.Body).Decode(&review))
	of := review.Spec.ResourceAttributes
	right := Right{Verb: of.Verb, Resource: of.Resource, Group: of.Group, Namespace: of.Namespace, Name: of.Name}
	if of.Subresource != "" {
		right.Resource += "/" + of.Subresource
	}
	review.Status.Allowed = !s.denied[right.String()]
	_ = json.NewEncoder(w).Encode(review)
}

func (s *server) serveList(w http.ResponseWriter, r *http.Request, resource string) {
	s.limits = append(s.limits, r.URL.Query().Get("limit"))
	items := s.lists[resource]
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	if from > 0 && s.expired {
		s.expired = false
		refuse(w, http.StatusGone, metav1.StatusReasonExpired, "the continue token is too old")
		return
	}
	list := map[string]any{"metadata": map[string]any{}, "items": []any{}}
	to := len(items)
	if limit, _ := strconv.Atoi(r.URL.Query().Get("limit")); limit > 0 && from+limit < to {
		to = from + limit
		list["metadata"] = map[string]any{"continue": fmt.Sprint(to)}
	}
	list["items"] = append([]any{}, items[from:to]...)
	_ = json.NewEncoder(w).Encode(list)
}

func (s *server) serveConfig(w http.ResponseWriter, name string) {
	for _, item := range s.lists["configmaps"] {
		if item.(corev1.ConfigMap).Name == name {
			_ = json.NewEncoder(w).Encode(item)
			return
		}
	}
	refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, "not found")
}

func (s *server) servePod(w http.ResponseWriter, r *http.Request, verb, name string) {
	switch verb {
	case "create":
		s.create(w, r)
	case "list":
		var items []corev1.Pod
		for _, pod := range s.pods {
			items = append(items, *pod)
		}
		slices.SortFunc(items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
		_ = json.NewEncoder(w).Encode(corev1.PodList{Items: items})
	case "delete":
		s.remove(w, r, name)
	case "get":
		pod := s.pods[name]
		if pod == nil {
			refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, "not found")
			return
		}
		if left, going := s.gone[name]; going {
			if s.gone[name] = left - 1; left <= 1 {
				delete(s.pods, name)
			}
		}
		pod.Status = s.status(pod, s.looks[name])
		s.looks[name]++
		_ = json.NewEncoder(w).Encode(pod)
	}
}

func (s *server) create(w http.ResponseWriter, r *http.Request) {
	var pod corev1.Pod
	assert.NoError(s.t, json.NewDecoder(r.Body).Decode(&pod))
	if s.admits != nil {
		if why := s.admits(&pod); why != "" {
			refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden, why)
			return
		}
	}
	s.pods[pod.Name] = &pod
	s.made = append(s.made, &pod)
	if s.onCreate != nil {
		s.onCreate()
	}
	_ = json.NewEncoder(w).Encode(pod)
}

func (s *server) remove(w http.ResponseWriter, r *http.Request, name string) {
	var o metav1.DeleteOptions
	_ = json.NewDecoder(r.Body).Decode(&o)
	switch {
	case s.pods[name] == nil:
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, "not found")
		return
	case o.GracePeriodSeconds != nil && *o.GracePeriodSeconds == 0:
		s.forced = append(s.forced, name)
		delete(s.pods, name)
	case s.stays == 0:
		delete(s.pods, name)
	default:
		s.gone[name] = s.stays
	}
	_ = json.NewEncoder(w).Encode(metav1.Status{Status: "Success"})
}

var errRefused = errors.New("no")
