package config_test

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/chainwalk/chainwalk/proxier/config"
	"github.com/chainwalk/chainwalk/proxier/config/clientset"
)

// printer is a consumer that prints the Services it gets, and says when it has.
// It takes the other methods from an interface that is nil, so nothing else may happen.
type printer struct {
	config.Handler
	printed chan struct{}
}

func (p printer) OnServiceAdd(service *v1.Service) {
	fmt.Println("added", service.Name)
	p.printed <- struct{}{}
}
func (printer) OnServiceSynced()        { fmt.Println("synced") }
func (printer) OnEndpointSlicesSynced() {}
func (printer) OnNodeSynced()           {}

func ExampleWatch() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	client := fake.NewClientset(&v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}})
	informers, err := config.Watch(ctx, clientset.API(client), config.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	consumer := printer{printed: make(chan struct{}, 2)}
	if _, err := informers.AddConsumer(ctx, consumer); err != nil {
		fmt.Println(err)
		return
	}

	<-consumer.printed

	// A write, which comes to every consumer.
	mail := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "mail"}}
	if _, err := client.CoreV1().Services("shop").Create(ctx, mail, metav1.CreateOptions{}); err != nil {
		fmt.Println(err)
		return
	}
	<-consumer.printed
	// Output:
	// added web
	// synced
	// added mail
}
