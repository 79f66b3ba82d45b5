package api

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// TestAWatchIsToldOfWhatWasWrittenAfterItsVersion and from then on of every write, with copies.
func TestAWatchIsToldOfWhatWasWrittenAfterItsVersion(t *testing.T) {
	s := newShelf(schema.GroupResource{Resource: "services"})
	before, after := serviceNamed("b"), serviceNamed("a")
	s.put(before)
	all, version := s.list()
	require.Len(t, all, 1)
	s.put(after)
	told, err := s.watch(version)
	require.NoError(t, err)
	after.Spec.ClusterIP = "10.96.0.2"
	s.put(after)
	require.NoError(t, s.remove(types.NamespacedName{Namespace: "shop", Name: "b"}))
	after.Spec.ClusterIP = "changed by its writer"
	for _, want := range []struct {
		event    watch.EventType
		name, ip string
	}{{watch.Added, "a", "10.96.0.1"}, {watch.Modified, "a", "10.96.0.2"}, {watch.Deleted, "b", "10.96.0.1"}} {
		got := <-told.ResultChan()
		service := got.Object.(*corev1.Service)
		assert.Equal(t, want.event, got.Type)
		assert.Equal(t, want.name, service.Name)
		assert.Equal(t, want.ip, service.Spec.ClusterIP)
	}
	fresh, err := s.watch("")
	require.NoError(t, err)
	assert.Equal(t, "a", (<-fresh.ResultChan()).Object.(metav1.Object).GetName(), "all that is there")
	_, err = s.watch("new")
	require.ErrorContains(t, err, `watch services from version "new"`)
}

// TestAShelfListsByNames and says what is not on it.
func TestAShelfListsByNames(t *testing.T) {
	s := newShelf(schema.GroupResource{Resource: "services"})
	for _, name := range []string{"c", "a", "b"} {
		s.put(serviceNamed(name))
	}
	var names []string
	all, _ := s.list()
	for _, o := range all {
		names = append(names, o.GetName())
	}
	assert.Equal(t, []string{"a", "b", "c"}, names)
	_, err := s.get(types.NamespacedName{Namespace: "shop", Name: "d"})
	assert.True(t, apierrors.IsNotFound(err))
	assert.True(t, apierrors.IsNotFound(s.remove(types.NamespacedName{Name: "a"})), "another namespace")
}

// TestAWatchFromLongAgoIsRefused, as an API server refuses one: who watches lists anew.
func TestAWatchFromLongAgoIsRefused(t *testing.T) {
	s := newShelf(schema.GroupResource{Resource: "services"})
	_, version := s.list()
	for i := range watch.DefaultChanSize + 1 {
		s.put(serviceNamed(fmt.Sprint("s", i)))
	}
	for _, from := range []string{version, ""} {
		_, err := s.watch(from)
		assert.True(t, apierrors.IsResourceExpired(err), "%v", err)
	}
	_, version = s.list()
	_, err := s.watch(version)
	assert.NoError(t, err)
}
