package restclient

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// anyObject is an object of the API, as a pointer to its type.
type anyObject interface {
	runtime.Object
	metav1.Object
}

// object is a pointer to a type of objects.
type object[T any] interface {
	*T
	anyObject
}

// list is a pointer to a type of lists.
type list[T any] interface {
	*T
	runtime.Object
}

// Client reads and writes the objects of one resource, with the methods of client-go's typed clients. It asks for Protocol Buffers, unless
// the configuration names another type of content.
type Client[O anyObject, S runtime.Object] struct {
	group     rest.Interface
	codec     runtime.ParameterCodec
	resource  string
	namespace string
	newObject func() O
	newList   func() S
}

// Objects is a client of the objects of a resource in a namespace. The empty namespace is all of them, and that of objects without one.
func Objects[T, L any, O object[T], S list[L]](s *Server, of schema.GroupVersionResource, namespace string) *Client[O, S] {
	return &Client[O, S]{
		group: s.Group(of.GroupVersion()), codec: s.codec, resource: of.Resource, namespace: namespace,
		newObject: func() O { return new(T) }, newList: func() S { return new(L) },
	}
}

// of has a request be about the resource, with options in its address.
func (c *Client[O, S]) of(r *rest.Request, options runtime.Object) *rest.Request {
	return c.about(r).VersionedParams(options, c.codec)
}

func (c *Client[O, S]) about(r *rest.Request) *rest.Request {
	return r.UseProtobufAsDefault().NamespaceIfScoped(c.namespace, c.namespace != "").Resource(c.resource)
}

// answer sends a request whose answer is an object.
func (c *Client[O, S]) answer(ctx context.Context, r *rest.Request) (O, error) {
	out := c.newObject()
	return out, r.Do(ctx).Into(out)
}

// Get reads the object of a name.
func (c *Client[O, S]) Get(ctx context.Context, name string, o metav1.GetOptions) (O, error) {
	return c.answer(ctx, c.of(c.group.Get(), &o).Name(name))
}

// List reads the objects that the options select.
func (c *Client[O, S]) List(ctx context.Context, o metav1.ListOptions) (S, error) {
	out := c.newList()
	return out, c.of(c.group.Get(), &o).Timeout(timeoutOf(o)).Do(ctx).Into(out)
}

// Watch is told of changes of the objects that the options select.
func (c *Client[O, S]) Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	o.Watch = true
	return c.of(c.group.Get(), &o).Timeout(timeoutOf(o)).Watch(ctx)
}

// timeoutOf is how long the server may take, 0 for as long as it likes.
func timeoutOf(o metav1.ListOptions) time.Duration {
	if o.TimeoutSeconds == nil {
		return 0
	}
	return time.Duration(*o.TimeoutSeconds) * time.Second
}

// Create writes a new object, and returns what the server made of it.
func (c *Client[O, S]) Create(ctx context.Context, object O, o metav1.CreateOptions) (O, error) {
	return c.answer(ctx, c.of(c.group.Post(), &o).Body(object))
}

// Update replaces an object, and returns what the server made of it.
func (c *Client[O, S]) Update(ctx context.Context, object O, o metav1.UpdateOptions) (O, error) {
	return c.answer(ctx, c.of(c.group.Put(), &o).Name(object.GetName()).Body(object))
}

// UpdateStatus replaces the status of an object, of a kind whose status is a resource of its own.
func (c *Client[O, S]) UpdateStatus(ctx context.Context, object O, o metav1.UpdateOptions) (O, error) {
	return c.answer(ctx, c.of(c.group.Put(), &o).Name(object.GetName()).SubResource("status").Body(object))
}

// Patch changes the object of a name, and returns what the server made of it.
func (c *Client[O, S]) Patch(ctx context.Context, name string, how types.PatchType, patch []byte, o metav1.PatchOptions,
	subresources ...string) (O, error) {
	return c.answer(ctx, c.of(c.group.Patch(how), &o).Name(name).SubResource(subresources...).Body(patch))
}

// Delete deletes the object of a name.
func (c *Client[O, S]) Delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
	return c.about(c.group.Delete()).Name(name).Body(&o).Do(ctx).Error()
}

// DeleteCollection deletes the objects that the second options select.
func (c *Client[O, S]) DeleteCollection(ctx context.Context, o metav1.DeleteOptions, which metav1.ListOptions) error {
	return c.of(c.group.Delete(), &which).Timeout(timeoutOf(which)).Body(&o).Do(ctx).Error()
}
