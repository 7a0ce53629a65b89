/* ---- the weights, in a file: 64 bytes of head, then the roles one after another ---- */

#if !BOT_EMBEDDED
static int load_net(Net *net, int role) {
    char head[64];
    int r;
    size_t n = net_floats(net_x_dim(role) + SET_ROWS), skip = sizeof head;
    FILE *f = fopen(BOT_WEIGHTS, "rb");
    if (!f) return 0;
    for (r = 0; r < role; r++) skip += net_floats(net_x_dim(r) + SET_ROWS) * sizeof(float);
    free(net->memory);
    net->memory = (float *)malloc(n * sizeof(float));
    if (!net->memory || fread(head, 1, sizeof head, f) != sizeof head ||
        memcmp(head, "DIZHUBOT1", 9) != 0 || fseek(f, (long)skip, SEEK_SET) != 0 ||
        fread(net->memory, sizeof(float), n, f) != n) {
        fclose(f);
        return 0;
    }
    fclose(f);
    net_view(net, role, net->memory);
    return 1;
}
#endif
