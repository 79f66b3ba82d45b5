package api

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/client-go/kubernetes"

	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// Replace turns the objects that a fake clientset was given before into those
// that it shall hold now: it writes what differs, and deletes what is gone. After
// some writes it calls pause, in which the clientset's watches must be read; see
// package proxier/config. An error about one object does not hold up the others.
func Replace(ctx context.Context, client kubernetes.Interface, before, now []manifest.Object, pause func()) error {
	old := map[manifest.Ref]manifest.Object{}
	for _, o := range lastOfEach(before) {
		old[o.Ref()] = o
	}
	var errs []error
	writes := 0
	note := func(err error) {
		errs = append(errs, err)
		if writes++; writes%writesPerDelivery == 0 {
			pause()
		}
	}
	now = lastOfEach(now)
	kept := map[manifest.Ref]bool{}
	for _, o := range now {
		kept[o.Ref()] = true
		if was, ok := old[o.Ref()]; !ok || !reflect.DeepEqual(was.Object, o.Object) {
			note(put(ctx, client, o))
		}
	}
	for _, o := range lastOfEach(before) {
		if kept[o.Ref()] {
			continue
		}
		if err := remove(ctx, client, o.Ref()); err != nil {
			note(fmt.Errorf("delete %s: %w", o.Ref(), err))
			continue
		}
		note(nil)
	}
	return errors.Join(errs...)
}
