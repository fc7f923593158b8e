/* sync_folder.h - the names of files, safe on the disk. */
#ifndef RMC_SYNC_FOLDER_H
#define RMC_SYNC_FOLDER_H

/* A file that has got its name by rename keeps it when its folder is on the disk,
 * too.  `path` is a file there, and is cut off after the folder. */
void rmc_sync_folder(char *path);

#endif
