#include "server/address.h"
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 4096, BAN_S = 60, FORGET_S = 600 };
static const float uploads_burst = 10, uploads_per_s = 10 / 60.0f;

struct Addresses {
    AddressLimits limits;
    Address *bucket[BUCKETS];
};

Addresses *addresses_new(const AddressLimits *limits) {
    Addresses *a = calloc(1, sizeof *a);
    if (a) a->limits = *limits;
    return a;
}

void addresses_free(Addresses *a) {
    for (int i = 0; a && i < BUCKETS; i++)
        for (Address *p = a->bucket[i], *next; p; p = next) {
            next = p->next;
            free(p);
        }
    free(a);
}

static void key_of(const struct sockaddr *peer, uint8_t key[16]) {
    memset(key, 0, 16);
    if (peer->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)peer;
        key[10] = key[11] = 0xff;
        memcpy(key + 12, &v4->sin_addr, 4);
    } else if (peer->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)peer;
        bool mapped = IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr);
        memcpy(key, &v6->sin6_addr, mapped ? 16 : 8);
    }
}

Address *addresses_find(Addresses *a, const struct sockaddr *peer, int64_t now_us) {
    uint8_t key[16];
    uint32_t h = 2166136261u;
    key_of(peer, key);
    for (int i = 0; i < 16; i++) h = (h ^ key[i]) * 16777619u;
    Address **head = &a->bucket[h % BUCKETS], *p = *head;
    while (p && memcmp(p->key, key, sizeof key) != 0) p = p->next;
    if (!p) {
        p = calloc(1, sizeof *p);
        if (!p) abort();
        memcpy(p->key, key, sizeof key);
        p->next = *head;
        *head = p;
    }
    p->used_us = now_us;
    return p;
}

bool address_admit(const Addresses *a, Address *from, int64_t now_us) {
    if (now_us < from->banned_until_us || from->connections >= a->limits.connections) return false;
    return bucket_take(&from->connects, now_us, a->limits.connects_burst, a->limits.connects_per_s);
}

bool address_request(const Addresses *a, Address *from, int64_t now_us) {
    return bucket_take(&from->requests, now_us, a->limits.requests_burst, a->limits.requests_per_s);
}

bool address_upload(Address *from, int64_t now_us) {
    return bucket_take(&from->uploads, now_us, uploads_burst, uploads_per_s);
}

bool address_guest(const Addresses *a, Address *from, int64_t now_us) {
    return bucket_take(&from->guests, now_us, a->limits.guests_burst, a->limits.guests_per_s);
}

void address_ban(Address *from, int64_t now_us) {
    from->banned_until_us = now_us + (int64_t)BAN_S * 1000000;
}

void addresses_sweep(Addresses *a, int64_t now_us) {
    for (int i = 0; i < BUCKETS; i++)
        for (Address **p = &a->bucket[i]; *p;) {
            Address *old = *p;
            bool idle = now_us - old->used_us > (int64_t)FORGET_S * 1000000;
            if (old->connections > 0 || !idle) {
                p = &old->next;
                continue;
            }
            *p = old->next;
            free(old);
        }
}
