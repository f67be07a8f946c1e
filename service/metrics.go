package service

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are those of one Service, in Prometheus's names and units.
type metrics struct {
	handler  http.Handler
	requests *prometheus.CounterVec
	inFlight prometheus.Gauge
	seconds  *prometheus.HistogramVec
	rows     *prometheus.CounterVec
	batch    prometheus.Histogram
}

func newMetrics(s *Service) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "erreval_requests_total",
			Help: "Requests that ended, by path and status. 499: the client went away, or did not read on."},
			[]string{"path", "code"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Name: "erreval_requests_in_flight",
			Help: "Requests that are being read or answered."}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "erreval_request_seconds",
			Help:    "From a request's header to the end of its reply.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800}}, []string{"path"}),
		rows: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "erreval_rows_total",
			Help: "Rows answered, by what came of them."}, []string{"outcome"}),
		batch: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "erreval_batch_rows",
			Help: "Rows in one run of the model.", Buckets: prometheus.ExponentialBuckets(1, 2, 12)}),
	}
	queued := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "erreval_queue_rows",
		Help: "Rows that wait for a model. A request has only its next ones here."}, s.queued)
	bodies := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "erreval_bodies_bytes",
		Help: "Bodies of requests that are held."}, func() float64 { return float64(s.held.Load()) })
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "erreval_build_info",
		Help:        "1, with the build and the taxonomy of requests that name none.",
		ConstLabels: prometheus.Labels{"version": s.o.Build, "taxonomy": s.o.Taxonomy.ID()}})
	build.Set(1)
	for _, outcome := range []string{"tagged", "untagged", "scored", "unscored", "rejected"} {
		m.rows.WithLabelValues(outcome)
	}
	r := prometheus.NewRegistry()
	r.MustRegister(m.requests, m.inFlight, m.seconds, m.rows, m.batch, queued, bodies, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.handler = promhttp.HandlerFor(r, promhttp.HandlerOpts{DisableCompression: true})
	return m
}

func (m *metrics) ran(rows int) { m.batch.Observe(float64(rows)) }

func (s *Service) queued() float64 {
	rows := 0
	for _, t := range s.taggers {
		rows += t.queued()
	}
	return float64(rows)
}

// watcher is a reply that notes its status, and gives the client time for each piece of it.
type watcher struct {
	http.ResponseWriter
	status int
	stall  time.Duration
}

func (w *watcher) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *watcher) WriteHeader(status int) {
	w.status = cmp.Or(w.status, status)
	w.ResponseWriter.WriteHeader(status)
}

func (w *watcher) Write(data []byte) (int, error) {
	w.status = cmp.Or(w.status, http.StatusOK)
	w.wait()
	return w.ResponseWriter.Write(data)
}

// FlushError is what http.ResponseController calls.
func (w *watcher) FlushError() error {
	w.wait()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// wait sets how long the client may take. A writer for tests knows no deadlines; a connection does.
func (w *watcher) wait() {
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.stall))
}

// clientGone is nginx's code of requests whose client went away.
const clientGone = 499

// code is what a request ended with. One that was not answered to its end has a code that no client sees.
func (w *watcher) code(r *http.Request, thrown any) int {
	err, _ := thrown.(error)
	switch {
	case thrown == nil:
		return cmp.Or(w.status, http.StatusOK)
	case !errors.Is(err, http.ErrAbortHandler):
		return http.StatusInternalServerError
	case r.Context().Err() != nil:
		return clientGone
	}
	return http.StatusGatewayTimeout
}

// watched counts the requests of a pattern such as "GET /v1/model".
func (s *Service) watched(pattern string, next http.Handler) http.Handler {
	path := pattern[strings.Index(pattern, "/"):]
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		began := time.Now()
		w := &watcher{ResponseWriter: out, stall: s.o.Bounds.Stall}
		w.wait() // the last request of this connection set another one
		if r.Body == http.NoBody {
			_ = http.NewResponseController(out).SetReadDeadline(time.Time{}) // net/http reads on, to see the client go
		}
		s.metrics.inFlight.Inc()
		defer func() {
			thrown := recover()
			s.metrics.inFlight.Dec()
			s.metrics.seconds.WithLabelValues(path).Observe(time.Since(began).Seconds())
			s.metrics.requests.WithLabelValues(path, strconv.Itoa(w.code(r, thrown))).Inc()
			if thrown != nil {
				panic(thrown)
			}
		}()
		next.ServeHTTP(w, r)
	})
}
