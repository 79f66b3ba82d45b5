package api

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// object is an object of the API.
type object interface {
	runtime.Object
	metav1.Object
}

// shelf keeps the objects of one kind, and tells watches of what changes. It takes and gives copies.
type shelf struct {
	resource schema.GroupResource

	lock    sync.Mutex
	version int // the version of the last write
	objects map[types.NamespacedName]written
	watches []*watch.RaceFreeFakeWatcher
}

// written is an object, and the version of its last write.
type written struct {
	object
	version int
}

func newShelf(resource schema.GroupResource) *shelf {
	return &shelf{resource: resource, version: 1, objects: map[types.NamespacedName]written{}}
}

// get returns the object of a name.
func (s *shelf) get(name types.NamespacedName) (object, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	o, ok := s.objects[name]
	if !ok {
		return nil, apierrors.NewNotFound(s.resource, name.Name)
	}
	return copyOf(o.object), nil
}

// put creates an object, or replaces it with its status.
func (s *shelf) put(o object) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.version++
	name := types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
	_, known := s.objects[name]
	s.objects[name] = written{copyOf(o), s.version}
	for _, w := range s.watches {
		if known {
			w.Modify(copyOf(o))
		} else {
			w.Add(copyOf(o))
		}
	}
}

// remove deletes the object of a name.
func (s *shelf) remove(name types.NamespacedName) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	o, ok := s.objects[name]
	if !ok {
		return apierrors.NewNotFound(s.resource, name.Name)
	}
	delete(s.objects, name)
	for _, w := range s.watches {
		w.Delete(copyOf(o.object))
	}
	return nil
}

// list returns all objects, by their names, and the version of the last write.
func (s *shelf) list() (all []object, version string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, o := range s.after(0) {
		all = append(all, copyOf(o.object))
	}
	return all, strconv.Itoa(s.version)
}

// watch begins a watch. It is told first of the objects that were written after a version, or of all if that is empty. A version has
// expired if these are more than a watch can hold before somebody reads it.
func (s *shelf) watch(version string) (watch.Interface, error) {
	from := 0
	if version != "" {
		var err error
		if from, err = strconv.Atoi(version); err != nil {
			return nil, fmt.Errorf("watch %s from version %q, which is no number", s.resource.Resource, version)
		}
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	missed := s.after(from)
	if len(missed) > int(watch.DefaultChanSize) {
		return nil, apierrors.NewResourceExpired(fmt.Sprintf("%d %s were written after version %q", len(missed), s.resource.Resource, version))
	}
	w := watch.NewRaceFreeFake()
	for _, o := range missed {
		w.Add(copyOf(o.object))
	}
	s.watches = append(slices.DeleteFunc(s.watches, (*watch.RaceFreeFakeWatcher).IsStopped), w)
	return w, nil
}

// after are the objects that were written after a version, by their names.
func (s *shelf) after(version int) []written {
	return slices.SortedFunc(func(yield func(written) bool) {
		for o := range maps.Values(s.objects) {
			if o.version > version && !yield(o) {
				return
			}
		}
	}, func(a, b written) int {
		if byNamespace := strings.Compare(a.GetNamespace(), b.GetNamespace()); byNamespace != 0 {
			return byNamespace
		}
		return strings.Compare(a.GetName(), b.GetName())
	})
}

func copyOf(o object) object { return o.DeepCopyObject().(object) }
