typedef int cvtm_placeholder;
