package healthcheck

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"
)

// serviceCheck is the health check of one Service. It is the ServiceServer's
// lock that protects it, except in ServeHTTP.
type serviceCheck struct {
	name      types.NamespacedName
	proxy     interface{ Healthy() bool }
	endpoints atomic.Int64

	listening map[netip.AddrPort]*listening
	// failures are the last errors at places where the check should listen.
	failures map[netip.AddrPort]string
}

func newServiceCheck(name types.NamespacedName, proxy interface{ Healthy() bool }) *serviceCheck {
	return &serviceCheck{
		name:      name,
		proxy:     proxy,
		listening: map[netip.AddrPort]*listening{},
		failures:  map[netip.AddrPort]string{},
	}
}

// closeElsewhere stops listening at other ports and other addresses. Nobody
// listens at port 0.
func (c *serviceCheck) closeElsewhere(port uint16, addresses []netip.Addr) {
	stays := func(place netip.AddrPort) bool {
		return place.Port() == port && slices.Contains(addresses, place.Addr())
	}
	for place, l := range c.listening {
		if !stays(place) {
			l.close()
			delete(c.listening, place)
		}
	}
	for place := range c.failures {
		if !stays(place) {
			delete(c.failures, place)
		}
	}
}

// listensAt says whether the check listens at so many places.
func (c *serviceCheck) listensAt(places int) bool {
	standing := 0
	for _, l := range c.listening {
		if !l.ended() {
			standing++
		}
	}
	return standing == places
}

// open listens at the place unless it does already. isNews is false if it
// failed as it did the last time.
func (c *serviceCheck) open(network string, place netip.AddrPort) (isNews bool, err error) {
	if l := c.listening[place]; l != nil && !l.ended() {
		return false, nil
	}
	delete(c.listening, place)
	l, err := listen(network, place, c)
	if err != nil {
		isNews = c.failures[place] != err.Error()
		c.failures[place] = err.Error()
		return isNews, err
	}
	delete(c.failures, place)
	c.listening[place] = l
	return false, nil
}

// serviceHealth is the body of an answer.
type serviceHealth struct {
	Service struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"service"`
	LocalEndpoints      int64 `json:"localEndpoints"`
	ServiceProxyHealthy bool  `json:"serviceProxyHealthy"`
}

// ServeHTTP answers at any path, as load balancers differ in what they ask for.
func (c *serviceCheck) ServeHTTP(response http.ResponseWriter, _ *http.Request) {
	health := serviceHealth{LocalEndpoints: c.endpoints.Load(), ServiceProxyHealthy: c.proxy.Healthy()}
	health.Service.Namespace, health.Service.Name = c.name.Namespace, c.name.Name
	body, err := json.MarshalIndent(health, "", "\t")
	if err != nil {
		panic(fmt.Sprintf("health %+v has no JSON form: %v", health, err))
	}
	// Some load balancers send each node its share by this.
	response.Header().Set("X-Load-Balancing-Endpoint-Weight", strconv.FormatInt(health.LocalEndpoints, 10))
	answer(response, health.LocalEndpoints > 0 && health.ServiceProxyHealthy, body)
}

// listening is one listener and the goroutine that serves it.
type listening struct {
	server *http.Server
	// done is closed when the goroutine has ended.
	done chan struct{}
}

func listen(network string, place netip.AddrPort, handler http.Handler) (*listening, error) {
	listener, err := net.ListenTCP(network, net.TCPAddrFromAddrPort(place))
	if err != nil {
		return nil, err
	}
	l := &listening{server: newHTTPServer(handler), done: make(chan struct{})}
	go func() {
		defer close(l.done)
		// Either closed by close, or broken: ended tells then.
		_ = l.server.Serve(listener)
	}()
	return l, nil
}

func (l *listening) ended() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// close returns when the port is free. Whoever is connected is cut off.
func (l *listening) close() {
	// The error would be about closing a socket that nobody uses any more.
	_ = l.server.Close()
	<-l.done
}
