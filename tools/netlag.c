/* netlag - links with latency between network namespaces, for kernels without netem.
 *
 *     netlag MBIT DELAY_MS DEVICE[@NAMESPACE]...
 *
 * Makes a TUN device in each namespace (or, without one, here) and says "ready". Whoever has
 * address a.b.c.K is behind the K-th device; 254 is the last. A packet that comes out of a device
 * waits DELAY_MS, then for its turn on the receiver's link of MBIT, and goes into that device. What
 * senders may send is for tbf on the devices to say. Ends when killed; the devices go with it.
 *
 *     gcc -O2 -o netlag tools/netlag.c                                                      */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 17, PACKET = 9216, QUEUE = 4096, LAST = 254, DESTINATION_AT = 19 };

typedef struct {
    int64_t at; // when it arrives
    int bytes;
    uint8_t data[PACKET];
} Packet;

typedef struct {
    int fd;
    Packet *queue; // a ring, by time of arrival
    unsigned first, end;
    int64_t free_at; // when the receiver's link is
    uint64_t dropped;
} Port;

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void die(const char *what) {
    perror(what);
    exit(1);
}

/* The device exists in the namespace; its descriptor is usable from anywhere. */
static int open_port(const char *spec, int home) {
    char device[IFNAMSIZ], path[256];
    const char *at = strchr(spec, '@');
    snprintf(device, sizeof device, "%.*s", at ? (int)(at - spec) : IFNAMSIZ - 1, spec);
    if (at) {
        snprintf(path, sizeof path, "/var/run/netns/%s", at + 1);
        int there = open(path, O_RDONLY);
        if (there < 0 || setns(there, CLONE_NEWNET) != 0) die(path);
        close(there);
    }
    struct ifreq r = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    memcpy(r.ifr_name, device, sizeof device);
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    if (fd < 0 || ioctl(fd, TUNSETIFF, &r) != 0) die(spec);
    if (at && setns(home, CLONE_NEWNET) != 0) die("setns");
    return fd;
}

static void take(Port *ports, int n, int from, int64_t delay, double ns_per_byte) {
    static uint8_t data[PACKET];
    for (;;) {
        ssize_t bytes = read(ports[from].fd, data, sizeof data);
        if (bytes <= DESTINATION_AT) return;
        int host = data[DESTINATION_AT], to = host == LAST ? n - 1 : host - 1;
        if (data[0] >> 4 != 4 || to < 0 || to >= n) continue;
        Port *p = &ports[to];
        if (p->end - p->first == QUEUE) {
            p->dropped++;
            continue;
        }
        int64_t at = now_ns() + delay;
        if (at < p->free_at) at = p->free_at;
        p->free_at = at + (int64_t)(ns_per_byte * (double)bytes);
        Packet *packet = &p->queue[p->end++ % QUEUE];
        packet->at = at;
        packet->bytes = (int)bytes;
        memcpy(packet->data, data, (size_t)bytes);
    }
}

/* Delivers what is due. Returns when the next is. */
static int64_t deliver(Port *p, int64_t next) {
    int64_t now = now_ns();
    while (p->first != p->end && p->queue[p->first % QUEUE].at <= now) {
        Packet *packet = &p->queue[p->first % QUEUE];
        if (write(p->fd, packet->data, (size_t)packet->bytes) < 0) p->dropped++;
        p->first++;
    }
    if (p->first == p->end) return next;
    int64_t at = p->queue[p->first % QUEUE].at;
    return at < next ? at : next;
}

int main(int argc, char **argv) {
    static Port ports[MOST];
    struct pollfd watch[MOST];
    int n = argc - 3, home = open("/proc/self/ns/net", O_RDONLY);
    if (n < 2 || n > MOST || atof(argv[1]) <= 0) {
        fprintf(stderr, "usage: netlag MBIT DELAY_MS DEVICE[@NAMESPACE]...\n");
        return 2;
    }
    double ns_per_byte = 8e3 / atof(argv[1]);
    int64_t delay = (int64_t)(atof(argv[2]) * 1e6);
    for (int i = 0; i < n; i++) {
        ports[i] = (Port){.fd = open_port(argv[3 + i], home), .queue = calloc(QUEUE, sizeof(Packet))};
        if (!ports[i].queue) die("memory");
        watch[i] = (struct pollfd){.fd = ports[i].fd, .events = POLLIN};
    }
    puts("ready");
    fflush(stdout);
    for (;;) {
        int64_t next = now_ns() + 1000000000;
        for (int i = 0; i < n; i++) next = deliver(&ports[i], next);
        int64_t left = next - now_ns();
        struct timespec wait = {left > 0 ? left / 1000000000 : 0, left > 0 ? left % 1000000000 : 0};
        if (ppoll(watch, (nfds_t)n, &wait, NULL) <= 0) continue;
        for (int i = 0; i < n; i++)
            if (watch[i].revents) take(ports, n, i, delay, ns_per_byte);
    }
}
