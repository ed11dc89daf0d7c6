/* What runs in the pods of cluster_test.py. serve PORT: says hello to whoever connects. get ADDRESS PORT: prints what is
   said there. show FILE: prints a file. It is linked statically: its image is this file alone. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in address_of(const char *host, const char *port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)strtoul(port, NULL, 10))};
  inet_aton(host, &address.sin_addr);
  return address;
}

static int serve(const char *port) {
  struct sockaddr_in address = address_of("0.0.0.0", port);
  int yes = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 16) != 0) return 1;
  puts("serving");
  fflush(stdout);
  for (;;) {
    int client = accept(listener, NULL, NULL);
    if (write(client, "hello\n", 6) != 6) return 1;
    close(client);
  }
}

static int get(const char *host, const char *port) {
  struct sockaddr_in address = address_of(host, port);
  char text[64] = {0};
  int server = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(server, (struct sockaddr *)&address, sizeof address) != 0) {
    perror("connect");
    return 1;
  }
  if (read(server, text, sizeof text - 1) <= 0) return 1;
  fputs(text, stdout);
  return 0;
}

static int show(const char *path) {
  FILE *file = fopen(path, "r");
  if (file == NULL) return 1;
  for (int c; (c = fgetc(file)) != EOF;) putchar(c);
  return 0;
}

int main(int count, char **words) {
  if (count == 3 && strcmp(words[1], "serve") == 0) return serve(words[2]);
  if (count == 4 && strcmp(words[1], "get") == 0) return get(words[2], words[3]);
  if (count == 3 && strcmp(words[1], "show") == 0) return show(words[2]);
  return 2;
}
