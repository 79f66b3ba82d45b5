package config_test

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/chainwalk/chainwalk/proxier/config"
)

// printer is a consumer that prints what it is told of Services. It takes the
// other methods from an interface that is nil, so nothing else may happen.
type printer struct{ config.Handler }

func (printer) OnServiceAdd(service *v1.Service) { fmt.Println("added", service.Name) }
func (printer) OnServiceSynced()                 { fmt.Println("synced") }
func (printer) OnEndpointSlicesSynced()          {}
func (printer) OnNodeSynced()                    {}

func ExampleWatch() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	client := fake.NewClientset(&v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}})
	informers, err := config.Watch(ctx, client, config.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := informers.AddConsumer(ctx, printer{}); err != nil {
		fmt.Println(err)
		return
	}

	// A write, and the certainty that every consumer has seen it.
	mail := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "mail"}}
	if _, err := client.CoreV1().Services("shop").Create(ctx, mail, metav1.CreateOptions{}); err != nil {
		fmt.Println(err)
		return
	}
	if err := informers.WaitDelivered(ctx); err != nil {
		fmt.Println(err)
		return
	}
	// Output:
	// added web
	// synced
	// added mail
}
