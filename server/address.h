/* address.h - who connects from where: limits for each address (IPv6: each /64 network).
 *
 * One thread. Addresses that have no connection are forgotten after a while.                */
#ifndef DIZHU_SERVER_ADDRESS_H
#define DIZHU_SERVER_ADDRESS_H
#include "server/lobby.h"
#include <sys/socket.h>

typedef struct Address Address;
struct Address {
    Address *next;
    uint8_t key[16];
    int connections;
    Bucket connects, requests, uploads, guests;
    int64_t banned_until_us, used_us;
};

typedef struct {
    int connections; /* at once */
    float connects_burst, connects_per_s;
    float requests_burst, requests_per_s; /* HTTP */
    float guests_burst, guests_per_s;     /* new tokens */
} AddressLimits;

typedef struct Addresses Addresses;
Addresses *addresses_new(const AddressLimits *limits);
void addresses_free(Addresses *a);
/* Never NULL; valid until the next addresses_sweep while it has no connection. */
Address *addresses_find(Addresses *a, const struct sockaddr *peer, int64_t now_us);
/* May one more connection come from here now? Counts the attempt, not the connection. */
bool address_admit(const Addresses *a, Address *from, int64_t now_us);
bool address_request(const Addresses *a, Address *from, int64_t now_us);
bool address_upload(Address *from, int64_t now_us);
bool address_guest(const Addresses *a, Address *from, int64_t now_us);
void address_ban(Address *from, int64_t now_us); /* a minute */
void addresses_sweep(Addresses *a, int64_t now_us);

#endif
