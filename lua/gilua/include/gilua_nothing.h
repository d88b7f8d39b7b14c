/* nothing: for the host alone */
