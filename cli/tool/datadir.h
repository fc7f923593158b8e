/* datadir.h - the files that stand in share/relmc beside the tool. */
#ifndef RELMC_CLI_SHARE_H
#define RELMC_CLI_SHARE_H

/* The folder NAME of share/relmc that holds `file`; yours.  NULL after a message
 * if it is nowhere. */
char *share_find(const char *name, const char *file);

#endif
