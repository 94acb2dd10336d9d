/* One handle, read by eight threads while another one opens and closes, and then by a forked child: threads ARCHIVE. */
#define _POSIX_C_SOURCE 200809L
#include "nc3z.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static nc3z_file *shared;
static const char *path;
static short expected[200];

static void *reader(void *wrong) {
    for (int i = 0; i < 300; i++) {
        short out[200] = {0};
        if (nc3z_read(shared, 0, 2, NULL, NULL, NULL, NC3Z_SHORT, out, sizeof out) || memcmp(out, expected, sizeof out)) *(int *)wrong = 1;
        /* The words are each thread's own. */
        uint32_t id = (uint32_t)(1000 + i);
        char words[200];
        if (nc3z_variable(shared, id, NULL, 0, NULL, NULL, NULL, NULL) != NC3Z_ENOTFOUND) *(int *)wrong = 2;
        char number[20];
        snprintf(number, sizeof number, "%u", (unsigned)id);
        nc3z_last_error(words, sizeof words);
        if (!strstr(words, number)) *(int *)wrong = 3;
    }
    return NULL;
}

static void *opener(void *wrong) {
    for (int i = 0; i < 300; i++) {
        nc3z_file *file;
        if (nc3z_open(path, NULL, &file) || nc3z_close(file) || nc3z_close(file) != NC3Z_EHANDLE) *(int *)wrong = 4;
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 2 || nc3z_open(path = argv[1], NULL, &shared)) return 2;
    if (nc3z_read(shared, 0, 2, NULL, NULL, NULL, NC3Z_SHORT, expected, sizeof expected)) return 3;
    pthread_t threads[9];
    int wrong[9] = {0}, all = 0;
    for (int i = 0; i < 9; i++) pthread_create(&threads[i], NULL, i < 8 ? reader : opener, &wrong[i]);
    for (int i = 0; i < 9; i++) pthread_join(threads[i], NULL), all |= wrong[i];
    pid_t child = fork();
    if (child == 0) {
        short out[200] = {0};
        _exit(nc3z_read(shared, 0, 2, NULL, NULL, NULL, NC3Z_SHORT, out, sizeof out) || memcmp(out, expected, sizeof out) || nc3z_close(shared));
    }
    int status = 1;
    if (waitpid(child, &status, 0) != child || status) return 4;
    return all || nc3z_close(shared) ? 1 : 0;
}
